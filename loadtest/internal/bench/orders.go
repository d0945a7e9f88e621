package bench

import (
	"context"
	"errors"
	"time"
)

const (
	ordersName      = "orders"
	rawBatchName    = "raw_batch"
	onePerTxName    = "one_per_tx"
	profiledDrain   = time.Second // what a profile of the worker lasts: about as long as it has orders to make
	databaseTimeout = time.Minute // of one statement: copies of a whole table are among them
)

// orders measures how fast the worker makes orders of a backlog that is there
// before it starts, and then what the database makes of the same rows alone.
func (b *bench) orders(ctx context.Context, round int, f figures) error {
	saleID := saleOf(ordersName, round)
	if err := b.worker.Halt(ctx); err != nil {
		return err
	}
	if _, err := b.backlog(ctx, saleID, b.Backlog); err != nil {
		return err
	}
	before, err := b.orderCPU()
	if err != nil {
		return err
	}
	stop, err := b.watch(ctx, ordersName, "worker", b.Stack.Workers[0].AdminURL, profiledDrain)
	if err != nil {
		return err
	}
	if err := errors.Join(b.settled(ctx), stop()); err != nil {
		return err
	}
	after, err := b.orderCPU()
	if err != nil {
		return err
	}
	if err := b.judge(ctx); err != nil {
		return err
	}
	after.since(before, b.Backlog, ordersName, f)
	made, err := b.rows.Made(ctx, saleID)
	if err != nil {
		return err
	}
	b.took(ordersName, made.PerSecond, f)
	f["orders_to_last_ms"], f["orders_a_batch"] = 1000*made.ToLast, made.Batch
	return b.rawInserts(ctx, saleID, f)
}

// took records a rate that comes without latencies.
func (b *bench) took(name string, rate float64, f figures) {
	f[perSecond(name)] = rate
	b.say("%-26s %9.0f /s", name, rate)
}
