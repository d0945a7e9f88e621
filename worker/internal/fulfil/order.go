package fulfil

import (
	"context"
	"time"

	"sluice/shared/sale"
)

// Fates of a reservation in an order transaction.
const (
	FateOrdered   = "ordered"   // its row is new and holds a unit
	FateKnown     = "known"     // its row was there: nothing moved
	FateDuplicate = "duplicate" // rejected: another rid holds the slot
	FateSurplus   = "surplus"   // rejected: no unit left, a bug or a lost Redis
)

// Verdict is what Postgres says about one reservation.
type Verdict struct {
	RID    string
	State  sale.OrderState
	Reason sale.Reason
	PayBy  time.Time // zero when nothing is to be paid
	Fate   string
}

// orders are the rows that decide.
type orders interface {
	// Order decides a batch, however often it comes: one verdict for each
	// distinct rid. It fails with ErrRefused when the batch must wait.
	Order(ctx context.Context, b Batch) ([]Verdict, error)
	// Unshow leaves these orders to be shown later.
	Unshow(ctx context.Context, rids []string) error
}

// decide makes orders of a batch and shows them. After nil the batch may be
// acknowledged; any error is a fault of the moment, or ErrRefused.
func (c *consumer) decide(work context.Context, b Batch) error {
	if err := c.hit(BeforeCommit); err != nil {
		return err
	}
	start := time.Now()
	verdicts, err := c.stores.Orders.Order(work, b)
	if err != nil {
		return err
	}
	c.metrics.commitSeconds.Observe(time.Since(start).Seconds())
	c.metrics.batchSize.Observe(float64(len(verdicts)))
	c.count(b, verdicts)
	if err := c.hit(AfterCommit); err != nil {
		return err
	}
	if err := c.show(work, b, verdicts); err != nil {
		return err
	}
	return c.hit(BeforeAck)
}

func (c *consumer) count(b Batch, verdicts []Verdict) {
	surplus := 0
	for _, v := range verdicts {
		c.metrics.orders.WithLabelValues(v.Fate).Inc()
		if v.Fate == FateSurplus {
			surplus++
		}
	}
	if surplus > 0 {
		c.log.Error("surplus rejected", "epoch", b.Epoch, "reservations", surplus)
	}
}
