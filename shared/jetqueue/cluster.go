package jetqueue

import (
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errNoLeader is of a stream or a consumer that a cluster is electing a leader for. A server
// that answers meanwhile may not have heard of what was acknowledged last.
var errNoLeader = errors.New("it has no leader at the moment")

// led refuses an answer that is not a leader's. Outside a cluster there is none to be.
func led(cluster *jetstream.ClusterInfo) error {
	if cluster != nil && cluster.Name != "" && cluster.Leader == "" {
		return errNoLeader
	}
	return nil
}

// goneFor is how long a cluster must say that a stream is not there. A server that has just
// been started, or elected, may say so of a stream that it does not know yet.
const goneFor = 5 * time.Second

// absence remembers since when streams are said not to be there.
type absence struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// lasts notes an answer, and reports whether it was this one for goneFor.
func (a *absence) lasts(stream string, gone bool, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !gone {
		delete(a.since, stream)
		return false
	}
	if a.since == nil {
		a.since = make(map[string]time.Time)
	}
	since, said := a.since[stream]
	if !said {
		since = now
		a.since[stream] = now
	}
	return now.Sub(since) >= goneFor
}

// isGone reports whether err, of a look for a stream, says that it is not there and is to be
// believed. No answer, an answer without a leader and any other error is nothing of the sort.
func (q *Queue) isGone(stream string, err error) bool {
	gone := errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound)
	lasts := q.absent.lasts(stream, gone, time.Now())
	return gone && (lasts || q.conn.ConnectedClusterName() == "")
}
