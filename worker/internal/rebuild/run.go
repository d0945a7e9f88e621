package rebuild

import (
	"context"
	"time"

	"sluice/shared/load"
	"sluice/shared/sale"
)

// start runs the rebuild of a sale beside others, unless the last one of this sale calls
// for a pause.
func (r *Rebuilds) start(ctx context.Context, e sale.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running[e.ID] || time.Now().Before(r.retries[e.ID].at) {
		return
	}
	r.running[e.ID] = true
	r.runs.Go(func() {
		outcome, err := r.run(ctx, e)
		r.ended(e.ID, outcome, err)
		if err != nil && ctx.Err() == nil {
			r.metrics.runs.WithLabelValues(resultFailed).Inc()
			r.log.Error("rebuild failed, will be tried again", "sale", e.ID, "epoch", e.Epoch, "error", err)
		}
	})
}

// ended notes when the sale may be run here again. After a fault later each time, so
// that an epoch and five seconds of waiting are not spent over and over. After a run
// that was overtaken not before the other had its time: workers whose locks do not hold
// would overtake each other for ever.
func (r *Rebuilds) ended(saleID string, outcome load.Outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, saleID)
	last := r.retries[saleID]
	delete(r.retries, saleID)
	switch {
	case outcome == load.Overtaken:
		r.retries[saleID] = retry{at: time.Now().Add(overtakenPause)}
	case err != nil:
		if time.Since(last.at) > forgetAfter {
			last = retry{}
		}
		next := min(max(2*last.pause, firstRetry), lastRetry)
		r.retries[saleID] = retry{at: time.Now().Add(next), pause: next}
	}
}

// run rebuilds a sale if no other process does.
func (r *Rebuilds) run(ctx context.Context, e sale.Entry) (load.Outcome, error) {
	unlock, locked, err := r.truth.Lock(ctx, e.ID)
	if err != nil || !locked {
		return "", err
	}
	defer unlock()
	if e, err = r.truth.Entry(ctx, e.ID); err != nil {
		return "", err
	}
	if !e.Rebuilding || e.Retired {
		return "", nil // it was done while we looked
	}
	r.log.Info("rebuild begins", "sale", e.ID, "epoch", e.Epoch)
	done, err := r.loader.Run(ctx, e.ID)
	if err == nil {
		r.tell(e.ID, done)
	}
	return done.Outcome, err
}

func (r *Rebuilds) tell(saleID string, done load.Done) {
	switch done.Outcome {
	case load.Overtaken:
		r.metrics.runs.WithLabelValues(resultOvertaken).Inc()
		r.log.Warn("rebuild left to a later one", "sale", saleID, "epoch", done.Entry.Epoch)
	case load.Already:
		r.metrics.runs.WithLabelValues(resultFinished).Inc()
		r.log.Info("sale is live again, its rebuild was broken off after that", "sale", saleID, "epoch", done.Entry.Epoch)
	case load.Live:
		r.metrics.runs.WithLabelValues(resultLive).Inc()
		r.metrics.seconds.Observe(done.Whole.Seconds())
		r.log.Info("sale is live again", "sale", saleID, "epoch", done.Entry.Epoch, "tickets", done.Tickets,
			"total", done.Live.Total, "stock", done.Live.Stock, "last_seq", done.Last, "seconds", done.Whole.Seconds(),
			"waited_seconds", done.Waiting.Seconds(), "ordered_seconds", done.Ordering.Seconds(), "loaded_seconds", done.Loading.Seconds())
	}
}
