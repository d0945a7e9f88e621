package chaos

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/loadtest/internal/history"
	"sluice/loadtest/internal/report"
)

// paused has the longest time without an attempt answered 202, and without an order, between
// a kill and now be a pause of the round.
func (r *Round) paused(ctx context.Context, of string, killed time.Duration) {
	to, ctx := r.journal.Now(), context.WithoutCancel(ctx)
	r.checks = append(r.checks, func(events []history.Event) {
		var accepts []time.Duration
		for _, e := range events {
			if e.Kind == history.Attempt && e.Status == http.StatusAccepted {
				accepts = append(accepts, e.Ended)
			}
		}
		orders, err := r.ordered(ctx)
		if err != nil {
			r.fail("scenario", "cannot say how long no order was made: %v", err)
		}
		p := report.Pause{Of: of, AcceptsS: longestGap(accepts, killed, to).Seconds(), OrdersS: longestGap(orders, killed, to).Seconds()}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.pauses = append(r.pauses, p)
	})
}

// longestGap is the longest time between two moments in which nothing of a list is.
func longestGap(all []time.Duration, from, to time.Duration) (longest time.Duration) {
	last := from
	for _, at := range slices.Sorted(slices.Values(all)) {
		if at <= from || at >= to {
			continue
		}
		longest, last = max(longest, at-last), at
	}
	return max(longest, to-last)
}

// ordered is when the orders of the sale were made.
func (r *Round) ordered(ctx context.Context) (all []time.Duration, err error) {
	err = r.reading(ctx, func(ctx context.Context, db *pgx.Conn) error {
		rows, err := db.Query(ctx, "SELECT created_at FROM orders WHERE sale_id = $1", r.saleID)
		if err != nil {
			return fmt.Errorf("cannot read when orders were made: %w", err)
		}
		moments, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
		for _, at := range moments {
			all = append(all, r.since(at))
		}
		return err
	})
	return all, err
}
