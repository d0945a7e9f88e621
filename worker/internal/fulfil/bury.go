package fulfil

import (
	"context"
	"fmt"
)

// Raw is a hand-over that cannot be read, as it came.
type Raw struct {
	Epoch  int64  // as its header says; 0 when that cannot be read either
	Header []byte // as NATS writes it
	Body   []byte
}

// Unreadable is what the dead letter of a hand-over says.
type Unreadable struct {
	SaleID   string
	Sequence uint64 // in the stream
	Raw
	Cause error
}

// bury puts hand-overs that cannot be read among the dead letters and
// acknowledges them. Their reservations stay queued without an order, which the
// lost role sees. After an error the rest is still in hand.
func (c *consumer) bury(work context.Context, unreadable []Delivery) error {
	for i, d := range unreadable {
		created, err := c.stores.Orders.Bury(work, Unreadable{SaleID: c.saleID, Sequence: d.Seq, Raw: d.Raw, Cause: d.Err})
		if err != nil {
			c.gatherer.held = append(unreadable[i:], c.gatherer.held...)
			return fmt.Errorf("cannot bury hand-over: %w", err)
		}
		if created {
			c.metrics.deadLetters.WithLabelValues(deadUnreadable).Inc()
		}
		if c.misreads.Allow() {
			c.log.Error("hand-over unreadable", "seq", d.Seq, "error", d.Err)
		}
		c.acknowledge(unreadable[i : i+1])
		c.lost.poke()
	}
	return nil
}
