package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	price    = 100 // minor units
	currency = "CNY"
)

// saleOf is what a row wants of its sale.
type saleOf struct {
	units  int
	hold   time.Duration // to pay; 15 minutes if zero
	opens  time.Time     // to the second; a minute ago if zero
	closes time.Time     // to the second; in an hour if zero
}

// window is when the sale is open.
func (s saleOf) window(now time.Time) (opens, closes time.Time) {
	opens, closes = s.opens, s.closes
	if opens.IsZero() {
		opens = now.Add(-time.Minute)
	}
	if closes.IsZero() {
		closes = now.Add(time.Hour)
	}
	return opens.UTC(), closes.UTC()
}

// in is a moment that a sales file can name.
func in(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Second) }

// open loads a sale of the round's own, and waits until every gateway sells it.
func (r *Round) open(ctx context.Context, s saleOf) error { return r.openAs(ctx, r.saleID, s) }

// openAs is open for a sale with a name that begins with the round's own.
func (r *Round) openAs(ctx context.Context, saleID string, s saleOf) error {
	hold := s.hold
	if hold == 0 {
		hold = 15 * time.Minute
	}
	opens, closes := s.window(time.Now())
	text := fmt.Sprintf("sales:\n  - {id: %s, total: %d, price: %d, currency: %s, hold: %s, opens_at: %s, closes_at: %s}\n", saleID, s.units, price, currency, hold,
		opens.Format(time.RFC3339), closes.Format(time.RFC3339))
	path := filepath.Join(r.dir, saleID+".yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("cannot write sales file: %w", err)
	}
	if err := r.stack.Warmup(ctx, "apply", "-oversubscribe", path); err != nil {
		return err
	}
	var ops []string
	for _, g := range r.stack.Info().Gateways {
		ops = append(ops, g.OpsURL)
	}
	return r.stack.Warmup(ctx, "wait", "-gateways", strings.Join(ops, ","))
}
