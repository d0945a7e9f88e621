package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"sluice/shared/service"
)

const (
	expirePage   = 200             // orders in one transaction: what its locks are held for
	expireWithin = 5 * time.Second // of one transaction, beside a busy sale
)

// Expired is the failpoint between the commit of an expiry and its releases.
const Expired = "worker.expired"

// due are the orders whose time to pay is over, by the database's clock.
type due interface {
	DueSales(ctx context.Context) (saleIDs []string, err error)
	// Expire expires at most limit orders of a sale, and leaves their releases.
	Expire(ctx context.Context, saleID string, limit int) (expired int64, err error)
}

// Expiry expires orders that were not paid in time. Any number of workers may run
// it: each takes orders that the others do not have in hand.
type Expiry struct {
	orders  due
	every   time.Duration
	release func() // has the new releases applied at once; they would be in any case
	hit     func(failpoint string) error
	metrics *Metrics
	log     *slog.Logger
	faults  service.Quiet
}

// NewExpiry builds the loop that looks for due orders every so often.
func NewExpiry(orders due, every time.Duration, release func(), hit func(failpoint string) error, m *Metrics, log *slog.Logger) *Expiry {
	m.scanPeriod.Set(every.Seconds())
	return &Expiry{orders: orders, every: every, release: release, hit: hit, metrics: m, log: log}
}

// Run expires until ctx ends.
func (e *Expiry) Run(ctx context.Context) {
	ticker := time.NewTicker(e.every)
	defer ticker.Stop()
	for {
		if err := e.scan(ctx); err != nil && ctx.Err() == nil && e.faults.Allow() {
			e.log.Warn("expiry postponed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// scan expires what is due, one page of every sale in turn. One sale's fault does not
// keep the others: it leaves the scan.
func (e *Expiry) scan(ctx context.Context) error {
	read, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	sales, err := e.orders.DueSales(read)
	if err != nil {
		return err
	}
	var faults []error
	for len(sales) > 0 && ctx.Err() == nil {
		sales = slices.DeleteFunc(sales, func(saleID string) bool {
			full, err := e.page(ctx, saleID)
			faults = append(faults, err)
			return !full
		})
	}
	return errors.Join(faults...)
}

// page expires up to a page of one sale; full says that there may be more.
func (e *Expiry) page(ctx context.Context, saleID string) (full bool, err error) {
	call, cancel := context.WithTimeout(ctx, expireWithin)
	defer cancel()
	expired, err := e.orders.Expire(call, saleID, expirePage)
	if err != nil || expired == 0 {
		return false, err
	}
	e.metrics.expired.Add(float64(expired))
	if err := e.hit(Expired); err != nil {
		return false, err
	}
	e.release()
	return expired == expirePage, nil
}
