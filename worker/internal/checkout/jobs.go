package checkout

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/service"
)

const (
	every   = time.Second
	page    = 200             // coupons in one transaction: what its locks are held for
	within  = 5 * time.Second // of one transaction
	mostRun = 50              // pages in a row, so that one job does not keep the other
)

// due are the coupons that time moves, by the database's clock.
type due interface {
	LapseLocks(ctx context.Context, limit int) (lapsed int, err error)
	ExpireCoupons(ctx context.Context, limit int) (expired int, err error)
}

// Jobs let go of what orders have locked for too long, and end coupons whose time is over.
type Jobs struct {
	coupons due
	hit     func(failpoint string) error
	metrics *Metrics
	log     *slog.Logger
	faults  service.Quiet
}

// NewJobs builds the loop.
func NewJobs(coupons due, hit func(failpoint string) error, m *Metrics, log *slog.Logger) *Jobs {
	return &Jobs{coupons: coupons, hit: hit, metrics: m, log: log}
}

// Run looks for what is due once a second until ctx ends.
func (j *Jobs) Run(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if err := j.scan(ctx); err != nil && ctx.Err() == nil && j.faults.Allow() {
			j.log.Warn("coupons that are due are postponed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (j *Jobs) scan(ctx context.Context) error {
	lapsing := j.all(ctx, coupon.EventLapse, j.coupons.LapseLocks, LapseCommitted)
	return errors.Join(lapsing, j.all(ctx, coupon.EventExpire, j.coupons.ExpireCoupons, ExpireCommitted))
}

// all moves what is due, page by page.
func (j *Jobs) all(ctx context.Context, event coupon.Event, move func(context.Context, int) (int, error), committed string) error {
	for range mostRun {
		n, err := j.page(ctx, move)
		if err != nil || n == 0 {
			return err
		}
		j.metrics.moved(event, n)
		if err := j.hit(committed); err != nil || n < page {
			return err
		}
	}
	return nil
}

func (*Jobs) page(ctx context.Context, move func(context.Context, int) (int, error)) (int, error) {
	call, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return move(call, page)
}
