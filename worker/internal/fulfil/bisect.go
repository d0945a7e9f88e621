package fulfil

import (
	"context"
	"errors"
	"time"

	"sluice/worker/internal/pacing"
)

// order decides b, a part of the batch in hand. When the database refuses a
// reservation in it for what it is, it is halved until the bad ones stand alone
// and the others are ordered. What a half has committed stays when another
// fails: after redelivery it is known.
func (c *consumer) order(work context.Context, g gathered, b Batch, turn *pacing.Turn) ([]Verdict, error) {
	verdicts, err := c.transact(turn, len(b.Reservations), func() ([]Verdict, error) { return c.stores.Orders.Order(work, b) })
	switch n := len(b.Reservations); {
	case !errors.Is(err, ErrInvalid):
		return verdicts, err
	case n == 1:
		return c.reject(work, g, b, turn, err)
	default:
		lower, upper := b.halves()
		first, err := c.orderHalf(work, g, lower, turn)
		if err != nil {
			return nil, err
		}
		second, err := c.orderHalf(work, g, upper, turn)
		return append(first, second...), err
	}
}

// orderHalf is order, once it is the sale's turn again.
func (c *consumer) orderHalf(work context.Context, g gathered, b Batch, turn *pacing.Turn) ([]Verdict, error) {
	if err := turn.Again(work, len(b.Reservations)); err != nil {
		return nil, err
	}
	return c.order(work, g, b, turn)
}

func (b Batch) halves() (lower, upper Batch) {
	lower, upper = b, b
	n := len(b.Reservations) / 2
	lower.Reservations, upper.Reservations = b.Reservations[:n], b.Reservations[n:]
	lower.Sequences, upper.Sequences = b.Sequences[:n], b.Sequences[n:]
	return lower, upper
}

// reject gives a bad reservation its outcome and its dead letter.
func (c *consumer) reject(work context.Context, g gathered, b Batch, turn *pacing.Turn, cause error) ([]Verdict, error) {
	rid := b.Reservations[0].RID
	if err := turn.Again(work, 1); err != nil {
		return nil, err
	}
	verdicts, err := c.transact(turn, 1, func() ([]Verdict, error) {
		v, err := c.stores.Orders.Reject(work, b, g.sequenceOf(rid), cause)
		return []Verdict{v}, err
	})
	if err == nil && verdicts[0].Fate == FateInvalid {
		c.metrics.deadLetters.WithLabelValues(deadInvalid).Inc()
		if c.rejections.Allow() {
			c.log.Error("reservation rejected as invalid", "rid", rid, "seq", g.sequenceOf(rid), "error", cause)
		}
	}
	return verdicts, err
}

// transact runs one transaction, times it and counts what it decided.
func (c *consumer) transact(turn *pacing.Turn, n int, run func() ([]Verdict, error)) ([]Verdict, error) {
	if err := c.hit(BeforeCommit); err != nil {
		return nil, err
	}
	start := time.Now()
	verdicts, err := run()
	c.metrics.commitSeconds.Observe(time.Since(start).Seconds()) // a refused one took its time too
	switch {
	case err == nil:
		turn.Ended(start, n)
	case errors.Is(err, ErrInvalid):
		turn.Refused(start, n)
	case errors.Is(err, ErrOverloaded):
		turn.Failed(start)
	}
	if err != nil {
		return nil, err
	}
	c.metrics.batchSize.Observe(float64(len(verdicts)))
	c.count(verdicts)
	return verdicts, c.hit(AfterCommit)
}

// sequenceOf is that of the first delivery which brought a reservation.
func (g gathered) sequenceOf(rid string) uint64 {
	for _, d := range g.deliveries {
		for _, r := range d.HandOver.Reservations {
			if r.RID == rid {
				return d.Seq
			}
		}
	}
	return 0
}
