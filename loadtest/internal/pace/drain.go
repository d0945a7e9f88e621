package pace

import (
	"context"
	"errors"

	"sluice/loadtest/internal/orderrows"
	"sluice/loadtest/internal/stack"
)

// drain lets a worker that has had nothing to do order a backlog, and then the database
// insert the same rows alone.
func (r *run) drain(ctx context.Context, f figures) (err error) {
	s, err := r.open(ctx, "drain", "A backlog that was there before the worker.", numbered(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	worker := &stack.Halter{PID: s.stack.Info().Workers[0].PID}
	defer func() { err = errors.Join(err, worker.Resume()) }()
	if err := worker.Halt(ctx); err != nil {
		return err
	}
	backlog := s.feeds[0]
	if err := backlog.backlog(ctx, r.Backlog); err != nil {
		return err
	}
	if err := worker.Resume(); err != nil {
		return err
	}
	s.watch.mark("worker goes on")
	if err := s.rest(ctx, backlog); err != nil {
		return err
	}
	table := orderrows.Table{DB: s.db}
	made, err := table.Made(ctx, backlog.saleID)
	if err != nil {
		return err
	}
	raw, err := rawBatches(ctx, table, backlog.saleID)
	if err != nil {
		return err
	}
	f["drain_orders_per_s"], f["drain_raw_batch_per_s"] = made.PerSecond, raw
	f.ratio("drain_vs_raw_batch", made.PerSecond, raw)
	r.say("drain: %d reservations: %.0f orders/s; raw batched insert %.0f rows/s", r.Backlog, made.PerSecond, raw)
	return s.finish(ctx)
}

// rawBatches inserts the rows of a sale once more, into a copy of the table, and returns
// rows a second.
func rawBatches(ctx context.Context, table orderrows.Table, saleID string) (float64, error) {
	if err := table.MakeCopy(ctx); err != nil {
		return 0, err
	}
	if err := table.FillCopy(ctx, saleID); err != nil {
		return 0, err
	}
	rows, err := table.Rows(ctx, saleID)
	if err != nil {
		return 0, err
	}
	return table.InsertBatches(ctx, saleID, rows)
}
