package backlog

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	askingAtOnce = 8 // sales that the stream is asked about at a time
	askWithin    = 2 * time.Second
)

// Run asks the stream about the sales of which something waits, once after each snapshot
// that says so, until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.poked:
		}
		var asking errgroup.Group
		asking.SetLimit(askingAtOnce)
		for id, epoch := range w.takeDue() {
			asking.Go(func() error {
				w.ask(ctx, id, epoch)
				return nil
			})
		}
		_ = asking.Wait() // each has said what failed
	}
}

// takeDue returns the epochs of the sales that are due, by id; they are so no more.
func (w *Watch) takeDue() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := map[string]int64{}
	for id, t := range w.sales {
		if t.due {
			t.due, due[id] = false, t.epoch
		}
	}
	return due
}

func (w *Watch) ask(ctx context.Context, saleID string, epoch int64) {
	bounded, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	first, err := w.stream.OldestWaiting(bounded, saleID)
	if ctx.Err() != nil {
		return
	}
	if err != nil && w.faults.Allow() {
		w.log.Warn("oldest of the backlog not read", "sale", saleID, "error", err)
	}
	w.answered(saleID, epoch, first, err)
}

// answered takes in what the stream said about a sale, unless that has gone on since.
func (w *Watch) answered(saleID string, epoch int64, first time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.failures++
	}
	t, known := w.sales[saleID]
	switch {
	case !known || t.epoch != epoch || t.Waiting == 0:
	case err != nil:
		t.Oldest = earliest(t.Oldest, t.handOff, t.now) // what waited at the snapshot has waited since then, or longer
	default:
		t.Oldest = earliest(first, t.handOff, t.provenSince())
	}
}

// provenSince is the moment since which something waits for sure: it did then, and
// nothing was served from that snapshot to the last. A single snapshot proves nothing,
// all of it may have been served by now; then it is the zero time.
func (t *tracked) provenSince() time.Time {
	if t.unserved.Before(t.now) {
		return t.unserved
	}
	return time.Time{}
}
