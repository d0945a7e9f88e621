package fulfil

import (
	"context"
	"time"

	"sluice/shared/sale"
	"sluice/worker/internal/pacing"
)

// Fates of a reservation in an order transaction.
const (
	FateOrdered    = "ordered"    // its row is new and holds a unit
	FateKnown      = "known"      // its row was there: nothing moved
	FateDuplicate  = "duplicate"  // rejected: another rid holds the slot
	FateSurplus    = "surplus"    // rejected: no unit left, a bug or a lost Redis
	FateInvalid    = "invalid"    // rejected: the database refuses it for what it is
	FateSuperseded = "superseded" // rejected: it came after the rebuild of its epoch had counted
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
	// distinct rid. It fails with ErrRefused when the batch must wait, with a
	// BeyondError when a part of it must, and with ErrInvalid when some reservation
	// in it will never do.
	Order(ctx context.Context, b Batch) ([]Verdict, error)
	// Reject decides a reservation that Order finds invalid alone; sequence is
	// of the hand-over that brought it.
	Reject(ctx context.Context, b Batch, sequence uint64, cause error) (Verdict, error)
	// Bury writes the dead letter of a hand-over, unless it is there.
	Bury(ctx context.Context, u Unreadable) (created bool, err error)
	// Undecided returns those of rids that nothing was decided about.
	Undecided(ctx context.Context, rids []string) ([]string, error)
	// Unshow leaves these orders to be shown later.
	Unshow(ctx context.Context, rids []string) error
}

// decide makes orders of a batch and shows them. After nil the batch may be
// acknowledged; any error is a fault of the moment, or ErrRefused. The turn is over once
// the orders are made: the next one's do not wait for Redis.
func (c *consumer) decide(work context.Context, g gathered, turn *pacing.Turn) error {
	verdicts, err := c.order(work, g, g.Batch, turn)
	turn.Done()
	c.events <- event{}
	if err != nil {
		return err
	}
	if err := c.show(work, g.Batch, verdicts); err != nil {
		return err
	}
	return c.hit(BeforeAck)
}

func (c *consumer) count(verdicts []Verdict) {
	surplus := 0
	for _, v := range verdicts {
		c.metrics.orders.WithLabelValues(v.Fate).Inc()
		if v.Fate == FateSurplus {
			surplus++
		}
	}
	if surplus > 0 {
		c.log.Error("surplus rejected", "reservations", surplus)
	}
}
