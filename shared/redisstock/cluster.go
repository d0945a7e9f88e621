package redisstock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// How calls go to a cluster.
//
//	call ─► the master that has the sale's slot ─► reply
//	            │ MOVED, ASK, TRYAGAIN, CLUSTERDOWN, LOADING, READONLY: it has not run ─► again, within the call's time
//	            │ anything else, a lost reply above all: nobody knows ─► error
//
// The library would also send a call again whose reply was lost. That is kept from it: by
// the hook of every node, which marks such an error final, and the one of the client, which
// takes the mark off again.
const (
	maxRedirects = 32 // the call's time is the limit
	leastPause   = 5 * time.Millisecond
	mostPause    = 40 * time.Millisecond
)

// newCluster prepares a client of which no call takes longer than most, whatever it is
// sent to.
func newCluster(o *redis.ClusterOptions, most time.Duration) *redis.ClusterClient {
	o.MaxRedirects, o.MinRetryBackoff, o.MaxRetryBackoff = maxRedirects, leastPause, mostPause
	o.DisableRoutingPolicies = true // every call here is about one slot or one node, and the policies cost a call of COMMAND
	c := redis.NewClusterClient(o)
	c.OnNewNode(func(server *redis.Client) {
		server.AddHook(&node{address: server.Options().Addr, pause: min(most, askEvery), look: func() { c.ReloadState(context.Background()) }})
	})
	c.AddHook(calls{most})
	return c
}

// calls gives every call its time and takes marks off errors.
type calls struct{ most time.Duration }

// call is one call, on its way from server to server.
type call struct {
	refused error         // why it did not run yet
	least   time.Duration // without which it is not sent again: its reply would be cut off
}

type callKey struct{}

// final is an error after which the library must not send the call again. It hides what it
// holds from the library, which goes by what an error wraps and by how its text begins.
type final struct{ err error }

func (f final) Error() string { return "final: " + f.err.Error() }

func (h calls) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h calls) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c := &call{least: h.most / 4}
		limited, cancel := context.WithTimeout(context.WithValue(ctx, callKey{}, c), h.most)
		defer cancel()
		err := next(limited, cmd)
		var f final
		switch {
		case errors.As(err, &f):
			return f.err
		default:
			return err
		}
	}
}

func (h calls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, cancel := context.WithTimeout(ctx, h.most)
		defer cancel()
		return next(ctx, cmds)
	}
}

const (
	silentAfter = 3           // calls in a row that a server leaves unanswered make it silent
	askEvery    = time.Second // at most between two calls to a silent one; else as long as one may take
)

// node is one server of a cluster, as the calls to it find it. While it is silent one call
// at a time finds out whether it still is, and the others fail at once: a loop over sales
// must not wait for each of those that a lost shard has.
type node struct {
	address string
	pause   time.Duration // between calls while it is silent
	look    func()        // for who has its slots by now
	missed  atomic.Int32
	asking  atomic.Bool
	asked   atomic.Int64 // when a silent one was last asked, in unix nanoseconds
}

func (n *node) DialHook(next redis.DialHook) redis.DialHook { return next }

func (n *node) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return n.send(ctx, func(ctx context.Context) error { return next(ctx, cmd) })
	}
}

func (n *node) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return n.send(ctx, func(ctx context.Context) error { return next(ctx, cmds) })
	}
}

func (n *node) send(ctx context.Context, do func(context.Context) error) error {
	if ctx.Value(n) != nil {
		return do(ctx) // the handshake of a connection that a call waits for
	}
	c, ours := ctx.Value(callKey{}).(*call)
	if deadline, limited := ctx.Deadline(); ours && limited && c.refused != nil && time.Until(deadline) < c.least {
		return final{fmt.Errorf("refused until its deadline: %w", c.refused)}
	}
	err := n.ask(context.WithValue(ctx, n, true), do)
	switch {
	case err == nil || !ours:
		return err
	case notRun(err):
		c.refused = err
		return err
	default:
		return final{err}
	}
}

func (n *node) ask(ctx context.Context, do func(context.Context) error) error {
	if n.missed.Load() >= silentAfter {
		if !n.mayAsk() {
			n.look()
			return fmt.Errorf("redis at %s does not answer: it was asked a moment ago", n.address)
		}
		defer func() {
			n.asked.Store(time.Now().UnixNano())
			n.asking.Store(false)
		}()
	}
	err := do(ctx)
	switch {
	case unanswered(err):
		n.missed.Add(1)
		n.look()
	case redis.IsClusterDownError(err):
		n.missed.Store(0)
		n.look()
	case !errors.Is(err, redis.ErrPoolTimeout) && !errors.Is(err, context.Canceled):
		n.missed.Store(0)
	}
	return err
}

// mayAsk reserves the one call to a silent server.
func (n *node) mayAsk() bool {
	return time.Since(time.Unix(0, n.asked.Load())) >= n.pause && n.asking.CompareAndSwap(false, true)
}

// notRun reports whether a server has refused a call before it ran, so that it may go to
// another server, or to this one again. Too few replicas are a refusal too, but last longer
// than a call may.
func notRun(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && !redis.IsNoReplicasError(err) || errors.Is(err, redis.ErrClosed)
}

// unanswered reports whether a call's error says that the server is not there.
func unanswered(err error) bool {
	var reply redis.Error
	return err != nil && !errors.As(err, &reply) && !errors.Is(err, redis.ErrClosed) &&
		!errors.Is(err, redis.ErrPoolTimeout) && !errors.Is(err, context.Canceled)
}
