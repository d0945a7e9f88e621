package growth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// What grows.
const (
	overSales    = "sales"
	overGateways = "gateways"
	overWorkers  = "workers"
	overUsers    = "users"
)

const units = 10_000_000 // of a sale that must not sell out

// setting is one stack to measure.
type setting struct {
	over                     string
	size                     int // of what grows
	sales, gateways, workers int
	users                    int // who have bought in the sale that is measured; 0: nobody
}

func (s setting) name() string { return fmt.Sprintf("%d %s", s.size, s.over) }

// figure is the name of one at this size.
func (s setting) figure(name string) string { return figureOf(s.over, s.size, name) }

func figureOf(over string, size int, name string) string {
	return fmt.Sprintf("%s_%d_%s", over, size, name)
}

// ids are the sales'.
func (s setting) ids() []string {
	all := make([]string, s.sales)
	for i := range all {
		all[i] = fmt.Sprintf("%s-%03d", s.over, i+1)
	}
	return all
}

// take starts the stack and measures it.
func (r *run) take(ctx context.Context, s setting, round int, f figures) (err error) {
	site, err := r.open(ctx, s, fmt.Sprintf("%s-%d-%d", s.over, s.size, round+1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.close()) }()
	if s.over == overWorkers {
		return site.orders(ctx, s, f)
	}
	return site.accepts(ctx, s, f)
}

// salesFile writes the sales of a setting, open now, and returns its path.
func (s setting) salesFile(dir string) (string, error) {
	text := bytes.NewBufferString("sales:\n")
	now := time.Now()
	for _, id := range s.ids() {
		fmt.Fprintf(text, "  - {id: %s, total: %d, price: 100, opens_at: %s, closes_at: %s}\n", id, units,
			now.Add(-time.Minute).UTC().Format(time.RFC3339), now.Add(24*time.Hour).UTC().Format(time.RFC3339))
	}
	path := filepath.Join(dir, "sales.yaml")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot write sales file: %w", err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("cannot write sales file: %w", err)
	}
	return path, nil
}
