package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/loadtest/internal/history"
	"sluice/shared/client"
	"sluice/shared/sale"
)

// tellWithin is how long a provider tries to tell of one event.
const tellWithin = time.Minute

// provider is the payment provider of a round. What it tells workers, and what they
// answer, is of the history.
type provider struct {
	round *Round
	sends client.Provider
	idle  func() // drops its connections
	next  atomic.Int64

	mu      sync.Mutex
	told    map[string]bool // events that were answered 200, by id
	repeats int             // answers 200 to events that had had one
}

func (r *Round) provider() *provider {
	info := r.stack.Info()
	transport := &http.Transport{MaxConnsPerHost: senders, MaxIdleConnsPerHost: senders, IdleConnTimeout: time.Minute}
	p := &provider{round: r, idle: transport.CloseIdleConnections, told: make(map[string]bool),
		sends: client.Provider{Key: []byte(info.Secrets.Webhook), HTTP: &http.Client{Transport: transport}}}
	for _, w := range info.Workers {
		p.sends.Workers = append(p.sends.Workers, w.URL)
	}
	return p
}

// eventOf is the n-th event of its type of an order. Refunds give the unit back.
func eventOf(what sale.PaymentType, order string, n int) sale.PaymentEvent {
	return sale.PaymentEvent{EventID: fmt.Sprintf("%s-%s-%d", order, what, n), Type: what, OrderID: order,
		AmountMinor: price, Currency: currency, OccurredAt: time.Now(), Restock: what == sale.RefundSucceeded}
}

// tell tells the workers in turn of an event, until one has stored it.
func (p *provider) tell(ctx context.Context, e sale.PaymentEvent) {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	r := p.round
	h := history.Event{Kind: history.Pay, Sale: r.saleID, Began: r.journal.Now(), Payment: e.EventID, Type: string(e.Type), Order: e.OrderID}
	err := p.sends.Deliver(ctx, int(p.next.Add(1)), e)
	h.Ended = r.journal.Now()
	if err == nil {
		h.Status = http.StatusOK
		p.answered(e.EventID)
	} else {
		r.fail("I3", "payment event %s was not stored: %v", e.EventID, err)
	}
	r.journal.Add(h)
}

func (p *provider) answered(eventID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.told[eventID] {
		p.repeats++
	}
	p.told[eventID] = true
}

// count is how many events were answered 200, and how many answers there were beyond that.
func (p *provider) count() (events, repeats int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.told), p.repeats
}

// recovered waits until the sale goes on, and all that was told is applied.
func (p *provider) recovered(ctx context.Context) error {
	db, err := p.round.connect(ctx)
	if err != nil {
		return err
	}
	defer hangUp(db)
	var unread error
	err = p.round.recoveredOnce(ctx, "the sale goes on, and every payment event is applied", func() bool {
		var applied bool
		if p.round.load.goesOn(p.round.healed) {
			applied, unread = p.applied(ctx, db)
		}
		return applied || unread != nil
	})
	if unread != nil {
		p.round.mu.Lock()
		defer p.round.mu.Unlock()
		p.round.recovery = 0 // nobody saw it
	}
	return errors.Join(err, unread)
}

// applied reports whether all that was told is stored and applied. Few events are left,
// many are stored: those are counted only when none is left.
func (p *provider) applied(ctx context.Context, db *pgx.Conn) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	var left, stored int
	err := db.QueryRow(ctx, `
		WITH unapplied AS MATERIALIZED (
			SELECT count(*) AS n FROM payments p JOIN orders o ON o.id = p.order_id WHERE o.sale_id = $1 AND p.applied_at IS NULL
		)
		SELECT n, CASE WHEN n = 0 THEN (SELECT count(*) FROM payments p JOIN orders o ON o.id = p.order_id WHERE o.sale_id = $1) ELSE 0 END
		FROM unapplied`, p.round.saleID).Scan(&left, &stored)
	if err != nil {
		return false, fmt.Errorf("cannot count payments: %w", err)
	}
	events, _ := p.count()
	return left == 0 && stored == events, nil
}
