package jetqueue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/sale"
)

const (
	watchPause  = 250 * time.Millisecond // between two attempts to watch
	replayLimit = 5 * time.Second        // an attempt that has not replayed by then starts over
	watchCheck  = 3 * time.Second        // how long a bucket that was made anew may go unnoticed
	checkWithin = 2 * time.Second
)

var (
	errWatchEnded = errors.New("the watch ended")
	errReplaced   = errors.New("the bucket is gone or another")
	errSilent     = errors.New("the watch does not tell what is there")
)

// Watch calls changed with every entry of the catalogue, then replayed, once,
// then changed with every newer entry as it comes, all from one goroutine. It
// runs until ctx ends and returns its error. After every reconnect, and when the
// bucket was made anew, it reads the whole catalogue again, so that nothing announced
// meanwhile is missed; what is older than what it has told already is not told, but
// retired sales are told again.
func (q *Queue) Watch(ctx context.Context, changed func(sale.Entry), replayed func()) error {
	w := &watch{queue: q, seen: map[string]sale.Entry{}, changed: changed, replayed: replayed}
	reconnected := q.conn.StatusChanged(nats.CONNECTED)
	defer q.conn.RemoveStatusListener(reconnected)
	for failing := false; ; {
		err := w.follow(ctx, reconnected)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !failing {
			q.log.Warn("catalogue watch interrupted", "error", err)
		}
		failing = err != nil
		if !failing {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchPause):
		}
	}
}

// watch is what one Watch call remembers across reconnects.
type watch struct {
	queue    *Queue
	seen     map[string]sale.Entry
	changed  func(sale.Entry)
	replayed func() // nil once called
}

// follow watches until ctx ends, the connection was renewed (nil), or it fails.
func (w *watch) follow(ctx context.Context, reconnected <-chan nats.Status) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The watch's own context must not expire, so a timer bounds its beginning.
	late := time.AfterFunc(replayLimit, cancel)
	defer late.Stop()
	catalog, err := w.queue.bucket(ctx)
	if err != nil {
		return err
	}
	watcher, err := catalog.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer drainWatcher(watcher, cancel)
	began, known := bucketNow(ctx, catalog)
	if !known {
		return errNoLeader
	}
	before, told := began, began.last // what is there already comes too, or was taken out
	check := time.NewTicker(watchCheck)
	defer check.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-reconnected:
			return nil
		case <-check.C:
			// A watcher of a bucket that was removed says nothing for good, even once
			// there is a new one. One whose server was lost says nothing for a while.
			now, known := bucketNow(ctx, catalog)
			switch {
			case !known:
				continue
			case !now.made.Equal(began.made):
				return errReplaced
			case before.last > told:
				return errSilent
			}
			before = now
		case update, ok := <-watcher.Updates():
			switch {
			case !ok:
				return errWatchEnded
			case update == nil:
				late.Stop()
				w.replayDone()
			default:
				told = max(told, update.Revision())
				w.apply(update)
			}
		}
	}
}

// bucketState is when the bucket was made, zero when there is none, and its last revision.
type bucketState struct {
	made time.Time
	last uint64
}

// bucketNow asks how the bucket stands; known is false when the server does not say.
func bucketNow(ctx context.Context, catalog jetstream.KeyValue) (now bucketState, known bool) {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	status, err := catalog.Status(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
		return bucketState{}, true
	}
	bucket, ok := status.(*jetstream.KeyValueBucketStatus)
	if err != nil || !ok {
		return bucketState{}, false
	}
	info := bucket.StreamInfo()
	return bucketState{info.Created, info.State.LastSeq}, led(info.Cluster) == nil
}

// drainWatcher ends the watcher by its context and waits for it: its sender
// blocks on a full channel until somebody reads.
func drainWatcher(watcher jetstream.KeyWatcher, cancel context.CancelFunc) {
	cancel()
	for range watcher.Updates() {
		continue
	}
}

func (w *watch) replayDone() {
	if w.replayed != nil {
		w.replayed()
		w.replayed = nil
	}
}

func (w *watch) apply(update jetstream.KeyValueEntry) {
	e, err := decodeEntry(update)
	if err != nil {
		w.queue.log.Error("catalogue entry unreadable", "sale", update.Key(), "error", err)
		return
	}
	if last, known := w.seen[e.ID]; known && !e.NewerThan(last) {
		return
	}
	w.seen[e.ID] = e
	if e.Retired { // nothing comes after it, and it will be gone one day: no memory for each
		delete(w.seen, e.ID)
	}
	w.changed(e)
}
