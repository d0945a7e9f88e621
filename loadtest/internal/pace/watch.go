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

// read asks all workers that answer.
func (s *stage) read(ctx context.Context) collect.Fleet { return collect.ReadFleet(ctx, s.workers()) }

// workers are the URLs of their ops listeners.
func (s *stage) workers() []string {
	var urls []string
	for _, w := range s.stack.Info().Workers {
		urls = append(urls, w.AdminURL)
	}
	return urls
}

// over is what the workers do in the next d.
func (s *stage) over(ctx context.Context, d time.Duration) (collect.Span, error) {
	before := s.read(ctx)
	if err := s.pause(d); err != nil {
		return collect.Span{}, err
	}
	return s.read(ctx).Since(before, s.workers()), nil
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
			w.keep(now.PaceSample(time.Since(w.began), now.Since(last, s.workers())))
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

func rounded(v float64) float64      { return math.Round(v*1000) / 1000 }
func millis(d time.Duration) float64 { return rounded(d.Seconds() * 1000) }
