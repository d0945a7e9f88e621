package fulfil

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"sluice/shared/service"
)

const (
	shortestPause = 100 * time.Millisecond // after a first fault
	longestPause  = 5 * time.Second
	refusedPause  = 5 * time.Second        // before a hand-over that Postgres refuses for now comes again
	beyondPause   = 500 * time.Millisecond // before one comes again that waits for the end of a rebuild
)

// Refusals of a batch by Postgres; every other error is a fault of the moment.
var (
	// ErrRefused is of the batch as a whole: its epoch is not the sale's current
	// one, or the sale is retired or unknown.
	ErrRefused = errors.New("batch is refused")
	// ErrInvalid is of one or more reservations in it, for what they are.
	ErrInvalid = errors.New("reservation is invalid")
)

// BeyondError refuses a batch of an older epoch of which a part must wait for the end
// of the rebuild that replaces it; hand-overs up to LastSeq can be decided now.
type BeyondError struct {
	LastSeq uint64
	Cause   error
}

func (e *BeyondError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *BeyondError) Unwrap() error { return e.Cause }

// consumer brings the hand-overs of one sale to Postgres, one batch at a time.
// After a fault of the moment it gives back what it has and pulls nothing for
// a while.
type consumer struct {
	*saleWorker
	source   Source // nil until opened, and after a fault of the stream
	keeper   *keeper
	gatherer gatherer
	pause    time.Duration // after the last fault; 0 when all is well

	faults, refusals, rejections, misreads, delays service.Quiet
}

func newConsumer(w *saleWorker, k *keeper) *consumer {
	return &consumer{saleWorker: w, keeper: k, gatherer: gatherer{keeper: k}}
}

// run consumes until ctx ends, finishes the batch in hand, and gives back the rest.
func (c *consumer) run(ctx, work context.Context) {
	defer close(c.keeper.done)
	for ctx.Err() == nil {
		if err := c.step(work); err != nil {
			c.backOff(ctx, err)
			continue
		}
		c.pause = 0
	}
	c.giveBack(c.gatherer.held, 0)
}

// step gathers and decides one batch.
func (c *consumer) step(work context.Context) error {
	if err := c.open(work); err != nil {
		return err
	}
	if err := c.gatherer.fill(c.source); err != nil {
		c.source = nil // its consumer may be gone: open it again
		return err
	}
	batch, unreadable := c.gatherer.take()
	if err := c.bury(work, unreadable); err != nil {
		c.gatherer.held = append(batch.deliveries, c.gatherer.held...)
		return err
	}
	c.countRedelivered(batch.deliveries)
	if len(batch.deliveries) == 0 {
		return nil
	}
	err := c.decide(work, batch)
	var beyond *BeyondError
	switch {
	case errors.As(err, &beyond):
		c.postpone(batch, beyond.LastSeq)
		return nil
	case errors.Is(err, ErrRefused):
		c.refuse(batch, err)
		return nil
	case err != nil:
		c.gatherer.held = append(batch.deliveries, c.gatherer.held...)
		return err
	}
	c.acknowledge(batch.deliveries)
	return nil
}

func (c *consumer) open(work context.Context) (err error) {
	if c.source != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	c.source, err = c.stores.Consume(ctx, c.saleID)
	return err
}

func (c *consumer) acknowledge(deliveries []Delivery) {
	c.keeper.release(deliveries)
	for _, d := range deliveries {
		if err := d.Reply.Ack(); err != nil && c.faults.Allow() {
			c.log.Warn("acknowledgement failed", "seq", d.Seq, "error", err) // it comes again and is known
		}
	}
}

func (c *consumer) countRedelivered(deliveries []Delivery) {
	for _, d := range deliveries {
		if d.Redelivered {
			c.metrics.redelivered.Inc()
		}
	}
}

// backOff returns everything in hand and stops pulling for a while, longer with
// every fault in a row.
func (c *consumer) backOff(ctx context.Context, err error) {
	c.pause = min(max(2*c.pause, shortestPause), longestPause)
	c.giveBack(c.gatherer.held, c.pause)
	c.gatherer.held = nil
	c.metrics.returned.WithLabelValues(returnedFault).Inc()
	if c.faults.Allow() {
		c.log.Warn("consumer paused", "pause", c.pause.String(), "error", err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(c.pause):
	}
}

// postpone gives back what must wait for the end of a rebuild, and keeps in hand what the
// rebuild waits for.
func (c *consumer) postpone(batch gathered, last uint64) {
	within, beyond := batch.split(last)
	c.giveBack(beyond, beyondPause)
	c.gatherer.held = append(within, c.gatherer.held...)
}

func (c *consumer) refuse(batch gathered, err error) {
	c.giveBack(batch.deliveries, refusedPause)
	c.metrics.returned.WithLabelValues(returnedRefused).Add(float64(len(batch.deliveries)))
	if c.refusals.Allow() {
		c.log.Warn("hand-over refused", "epoch", batch.Epoch, "seq", batch.deliveries[0].Seq, "error", err)
	}
}

// giveBack asks for deliveries again after pause, spread over twice that, so
// that they do not all come at once.
func (c *consumer) giveBack(deliveries []Delivery, pause time.Duration) {
	c.keeper.release(deliveries)
	for _, d := range deliveries {
		delay := pause
		if pause > 0 {
			delay += rand.N(pause)
		}
		if err := d.Reply.NakAfter(delay); err != nil {
			c.log.Debug("return failed", "seq", d.Seq, "error", err) // the ack wait brings it back
		}
	}
}
