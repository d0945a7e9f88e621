package pace

import (
	"context"
	"math"
	"sync"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
)

// sampleEvery is how often the workers are asked how they pace themselves.
const sampleEvery = 500 * time.Millisecond

// totals are what the workers have done, by their URLs.
type totals map[string]collect.Worker

// read asks all workers that answer.
func (s *stage) read(ctx context.Context) totals {
	all := make(totals)
	for _, w := range s.stack.Info().Workers {
		if read, err := collect.ReadWorker(ctx, w.AdminURL); err == nil { // one that starts again does not answer for a while
			all[w.AdminURL] = read
		}
	}
	return all
}

// span is what the workers did between two readings.
type span struct {
	orders, commits float64 // a second
	p90             time.Duration
	redelivered     float64
	shares          []float64 // orders a second by worker, in their order
}

func (s *stage) between(before, after totals) span {
	var all span
	var commits collect.Histogram
	for _, w := range s.stack.Info().Workers {
		was, is := before[w.AdminURL], after[w.AdminURL]
		if is.Ordered < was.Ordered || was.At.IsZero() || is.At.IsZero() { // it was started again
			all.shares = append(all.shares, 0)
			continue
		}
		took := is.At.Sub(was.At).Seconds()
		rate, added := (is.Ordered-was.Ordered)/took, is.Commits.Since(was.Commits)
		all.shares = append(all.shares, rate)
		all.orders += rate
		all.commits += added.Count / took
		all.redelivered += is.Redelivered - was.Redelivered
		commits = commits.Plus(added)
	}
	all.p90 = commits.Quantile(0.9)
	return all
}

// over is what the workers do in the next d.
func (s *stage) over(ctx context.Context, d time.Duration) (span, error) {
	before := s.read(ctx)
	if err := s.pause(d); err != nil {
		return span{}, err
	}
	return s.between(before, s.read(ctx)), nil
}

// watch keeps samples of how the workers of a stage pace themselves.
type watch struct {
	began time.Time
	mu    sync.Mutex
	pace  report.Pace
}

// run samples until ctx ends.
func (w *watch) run(ctx context.Context, s *stage) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for last := s.read(ctx); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := s.read(ctx)
		if ctx.Err() == nil {
			w.keep(sampleOf(time.Since(w.began), now, s.between(last, now)))
		}
		last = now
	}
}

func (w *watch) keep(sample report.PaceSample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pace.Samples = append(w.pace.Samples, sample)
}

// mark notes what is done to the workers now, and returns when that is.
func (w *watch) mark(text string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := time.Since(w.began)
	w.pace.Marks = append(w.pace.Marks, report.Mark{T: rounded(at.Seconds()), Text: text})
	return at
}

// since are the samples from a moment on.
func (w *watch) since(from time.Duration) []report.PaceSample {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []report.PaceSample
	for _, s := range w.pace.Samples {
		if s.T >= from.Seconds() {
			found = append(found, s)
		}
	}
	return found
}

// sampleOf puts together what all workers say.
func sampleOf(at time.Duration, now totals, did span) report.PaceSample {
	s := report.PaceSample{
		T: rounded(at.Seconds()), OrdersPerS: rounded(did.orders), CommitsPerS: rounded(did.commits), CommitP90: millis(did.p90),
		Shares: make([]float64, len(did.shares)),
	}
	for i, share := range did.shares {
		s.Shares[i] = rounded(share)
	}
	for _, w := range now {
		if !w.Told {
			continue
		}
		s.Told = true
		s.PacePerS += rounded(w.Pace)
		s.Consumers += w.Consumers
		if p90 := millis(w.P90); p90 >= s.P90 { // the slowest speaks for all
			s.P90, s.Target, s.LimitedBy = p90, millis(w.Target), w.LimitedBy
		}
	}
	return s
}

func rounded(v float64) float64      { return math.Round(v*1000) / 1000 }
func millis(d time.Duration) float64 { return rounded(d.Seconds() * 1000) }
