package bench

import (
	"context"
	"time"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/orderrows"
)

const (
	drainPatience = 3 * time.Minute
	lookEvery     = 20 * time.Millisecond
)

// answered notes what attempts in a sale were answered.
func (b *bench) answered(saleID string, m loop.Measurement) {
	told := b.answers[saleID]
	b.answers[saleID] = orderrows.Answers{Accepted: told.Accepted + m.Wanted, Others: told.Others + m.Unwanted}
}

// catchUp lets the worker order all that was accepted.
func (b *bench) catchUp(ctx context.Context, _ int, _ figures) error {
	if err := b.settled(ctx); err != nil {
		return err
	}
	return b.judge(ctx)
}

// settled lets the worker go on until every reservation has its outcome.
func (b *bench) settled(ctx context.Context) error {
	if err := b.worker.Resume(); err != nil {
		return err
	}
	for saleID := range b.answers {
		if err := orderrows.Settled(ctx, b.Stores, saleID); err != nil {
			return err
		}
	}
	return nil
}

// judge adds what settled orders violate to the verdict.
func (b *bench) judge(ctx context.Context) error {
	for saleID, told := range b.answers {
		violations, err := b.rows.Judge(ctx, saleID, told)
		if err != nil {
			return err
		}
		for _, v := range violations {
			b.rep.Fail(v.Invariant, "%s", v.Detail)
		}
		delete(b.answers, saleID)
	}
	return nil
}
