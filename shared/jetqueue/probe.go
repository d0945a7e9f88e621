package jetqueue

import (
	"context"
	"errors"
	"sync/atomic"
)

var errNotConnected = errors.New("there is no connection to NATS yet")

// Probe asks whether NATS answers, from before there is a connection on. The zero value
// is ready.
type Probe struct{ queue atomic.Pointer[Queue] }

// Connected gives it the connection to ask on.
func (p *Probe) Connected(q *Queue) { p.queue.Store(q) }

// Ask fails while NATS does not answer. ctx needs a deadline.
func (p *Probe) Ask(ctx context.Context) error {
	q := p.queue.Load()
	if q == nil {
		return errNotConnected
	}
	return q.Flush(ctx)
}
