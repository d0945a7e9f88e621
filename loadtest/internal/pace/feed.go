package pace

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"sluice/loadtest/internal/wait"
	"sluice/shared/jetqueue"
	"sluice/shared/redisstock"
	"sluice/shared/sale"
)

const (
	priceMinor  = 100
	currency    = "CNY"
	handOver    = 250 // reservations in a hand-over when there are enough: two fill the largest batch
	callTimeout = 5 * time.Second
	lookEvery   = 15 * time.Millisecond
)

// feed accepts attempts of ever new buyers in one sale, as a gateway does: reserved in
// Redis, handed over to the stream, taken off the list. What a gateway does before that
// would only take CPU from the worker. A feed serves one caller at a time.
type feed struct {
	saleID    string
	epoch     int64
	batch     int // reservations of a hand-over when there are enough; 0 is handOver
	stock     *redisstock.Client
	queue     *jetqueue.Queue
	seen      []sale.Seen // every reservation that was accepted
	handOvers atomic.Int64
}

// most is how many reservations a hand-over has when there are enough.
func (f *feed) most() int {
	if f.batch > 0 {
		return f.batch
	}
	return handOver
}

// accept has n attempts accepted, most at most, and returns the sale as it was then.
func (f *feed) accept(ctx context.Context, n int) (sale.Snapshot, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout) // what has begun is finished
	defer cancel()
	attempts := make([]sale.Attempt, n)
	for i := range attempts {
		attempts[i] = sale.Attempt{RID: uuid.Must(uuid.NewV7()).String(), UserID: fmt.Sprintf("buyer-%d", len(f.seen)+i)}
	}
	snap, decisions, err := f.stock.Reserve(ctx, f.saleID, f.epoch, attempts)
	if err != nil {
		return snap, fmt.Errorf("cannot reserve in sale %s: %w", f.saleID, err)
	}
	reservations, rids := make([]sale.Reservation, n), make([]string, n)
	for i, d := range decisions {
		if d.Code != sale.DecidedAccepted {
			return snap, fmt.Errorf("cannot reserve in sale %s: an attempt was decided %d", f.saleID, d.Code)
		}
		reservations[i], rids[i] = d.Ticket.Reservation, d.Ticket.RID
	}
	if _, err := f.queue.Publish(ctx, sale.HandOver{SaleID: f.saleID, Epoch: f.epoch, PriceMinor: priceMinor, Currency: currency, Reservations: reservations}); err != nil {
		return snap, err
	}
	for _, rid := range rids {
		f.seen = append(f.seen, sale.Seen{RID: rid, Accepted: true, Statuses: []sale.Status{sale.StatusQueued}})
	}
	f.handOvers.Add(1)
	return snap, f.stock.HandedOver(ctx, f.saleID, f.epoch, rids)
}

// backlog has n attempts accepted.
func (f *feed) backlog(ctx context.Context, n int) error {
	for ; n > 0; n -= f.most() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := f.accept(ctx, min(n, f.most())); err != nil {
			return err
		}
	}
	return nil
}

// keepWaiting keeps about n reservations waiting until ctx ends, so that demand is never
// the limit.
func (f *feed) keepWaiting(ctx context.Context, n int64) error {
	for ctx.Err() == nil {
		waiting, err := f.waiting(ctx)
		if err != nil {
			return err
		}
		for ; waiting < n && ctx.Err() == nil; waiting += int64(f.most()) {
			if _, err := f.accept(ctx, f.most()); err != nil {
				return err
			}
		}
		wait.For(ctx, lookEvery)
	}
	return nil
}

// waiting is how many reservations have no outcome yet.
func (f *feed) waiting(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	snap, _, err := f.stock.Snapshot(ctx, f.saleID, f.epoch)
	if err != nil {
		return 0, fmt.Errorf("cannot read sale %s: %w", f.saleID, err)
	}
	return snap.Rank - snap.Served, nil
}

// steadily has so many attempts a second accepted until ctx ends.
func (f *feed) steadily(ctx context.Context, perSecond int) error {
	began, first := time.Now(), len(f.seen)
	for ctx.Err() == nil {
		due := int(time.Since(began).Seconds()*float64(perSecond)) - (len(f.seen) - first)
		if due <= 0 {
			wait.For(ctx, lookEvery)
			continue
		}
		if _, err := f.accept(ctx, min(due, f.most())); err != nil {
			return err
		}
	}
	return nil
}
