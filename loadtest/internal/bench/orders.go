package bench

import (
	"context"
	"fmt"
	"time"
)

const (
	ordersName      = "orders"
	rawBatchName    = "raw_batch"
	onePerTxName    = "one_per_tx"
	databaseTimeout = time.Minute // of one statement: copies of a whole table are among them
)

// orders measures how fast the worker makes orders of a backlog that is there
// before it starts, and then what the database makes of the same rows alone.
func (b *bench) orders(ctx context.Context, round int, f figures) error {
	saleID := saleOf(ordersName, round)
	if err := b.worker.halt(ctx); err != nil {
		return err
	}
	if _, err := b.backlog(ctx, saleID, b.Backlog); err != nil {
		return err
	}
	before, err := b.orderCPU()
	if err != nil {
		return err
	}
	if err := b.catchUp(ctx, round, f); err != nil {
		return err
	}
	after, err := b.orderCPU()
	if err != nil {
		return err
	}
	after.since(before, b.Backlog, ordersName, f)
	rate, toLast, err := b.orderRate(ctx, saleID)
	if err != nil {
		return err
	}
	b.took(ordersName, rate, f)
	f["orders_to_last_ms"] = 1000 * toLast
	return b.rawInserts(ctx, saleID, f)
}

// orderRate is how many orders a second were made of a sale's backlog, from the first
// batch's begin to that of the batch in which 99 of 100 are done, and how many
// seconds it was to the last batch's. A row's created_at is when its transaction
// began, so settling and acknowledging the batches in between is in the time. A
// hand-over that failed comes some seconds late, by the sweeper: that shows in the
// second figure and not in the first.
func (b *bench) orderRate(ctx context.Context, saleID string) (rate, toLast float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	var rows int
	var seconds float64
	err = b.db.QueryRow(ctx, `
		WITH made AS (
			SELECT created_at FROM orders WHERE sale_id = $1
		), ends AS (
			SELECT min(created_at) AS first, percentile_disc(0.99) WITHIN GROUP (ORDER BY created_at) AS done, max(created_at) AS last FROM made
		)
		SELECT (SELECT count(*) FROM made WHERE created_at < done), extract(epoch FROM done - first)::float8, extract(epoch FROM last - first)::float8
		FROM ends`, saleID).Scan(&rows, &seconds, &toLast)
	if err != nil {
		return 0, 0, fmt.Errorf("cannot read orders of sale %s: %w", saleID, err)
	}
	if rows == 0 || seconds == 0 {
		return 0, 0, fmt.Errorf("cannot measure orders: those of sale %s are one batch", saleID)
	}
	return float64(rows) / seconds, toLast, nil
}

// took records a rate that comes without latencies.
func (b *bench) took(name string, rate float64, f figures) {
	f[perSecond(name)] = rate
	b.say("%-26s %9.0f /s", name, rate)
}
