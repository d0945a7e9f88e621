package jetqueue

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
)

var errNotConnected = errors.New("there is no connection to NATS yet")

// Probe asks whether NATS answers, from before there is a connection on. The zero value
// is ready.
type Probe struct{ queue atomic.Pointer[Queue] }

// Connected gives it the connection to ask on.
func (p *Probe) Connected(q *Queue) { p.queue.Store(q) }

// Ask fails while NATS does not answer, or nobody leads its streams: a server that has lost the
// others goes on to answer its own clients, and stores nothing. ctx needs a deadline.
func (p *Probe) Ask(ctx context.Context) error {
	q := p.queue.Load()
	if q == nil {
		return errNotConnected
	}
	stream, err := q.js.Stream(ctx, StreamName)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil // it answers; the stream is for migrate to make
	case err != nil:
		return fmt.Errorf("nats does not say how stream %s is: %w", StreamName, err)
	}
	return led(stream.CachedInfo().Cluster)
}
