package fulfil

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	shortestPause = 100 * time.Millisecond // after a first fault
	longestPause  = 5 * time.Second
	forgetAfter   = time.Minute            // longer than a transaction may take to fail, and what it gave back to come again
	refusedPause  = 5 * time.Second        // before a hand-over that Postgres refuses for now comes again
	beyondPause   = 500 * time.Millisecond // before one comes again that waits for the end of a rebuild
)

// backOff returns everything in hand and stops pulling for a while, longer with
// every fault in a row: without an order in between, and no more than a minute apart.
func (c *consumer) backOff(ctx context.Context, err error) {
	if time.Since(c.faultAt) > forgetAfter {
		c.pause = 0
	}
	c.faultAt = time.Now()
	c.pause = min(max(2*c.pause, shortestPause), longestPause)
	c.giveBack(c.gatherer.held, c.pause)
	c.gatherer.held = nil
	c.round++
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
