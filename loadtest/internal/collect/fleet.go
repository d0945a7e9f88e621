package collect

import (
	"context"
	"math"
	"time"

	"sluice/loadtest/internal/report"
)

// Fleet is what the workers have done, by the URLs of their ops listeners.
type Fleet map[string]Worker

// ReadFleet asks all workers. One that starts again does not answer for a while, and is
// left out.
func ReadFleet(ctx context.Context, opsURLs []string) Fleet {
	all := make(Fleet)
	for _, url := range opsURLs {
		if read, err := ReadWorker(ctx, url); err == nil {
			all[url] = read
		}
	}
	return all
}

// Span is what workers did between two readings.
type Span struct {
	Orders, Commits float64 // a second
	P90             time.Duration
	Redelivered     float64
	Shares          []float64 // orders a second by worker, in their order
}

// Since is what the workers at opsURLs did since before. One that was started again
// meanwhile, or is in one reading alone, did nothing.
func (f Fleet) Since(before Fleet, opsURLs []string) Span {
	var all Span
	var commits Histogram
	for _, url := range opsURLs {
		was, is := before[url], f[url]
		if is.Ordered < was.Ordered || was.At.IsZero() || is.At.IsZero() {
			all.Shares = append(all.Shares, 0)
			continue
		}
		took := is.At.Sub(was.At).Seconds()
		rate, added := (is.Ordered-was.Ordered)/took, is.Commits.Since(was.Commits)
		all.Shares = append(all.Shares, rate)
		all.Orders += rate
		all.Commits += added.Count / took
		all.Redelivered += is.Redelivered - was.Redelivered
		commits = commits.Plus(added)
	}
	all.P90 = commits.Quantile(0.9)
	return all
}

// PaceSample puts together what all workers say at a moment, and what they did until then.
func (f Fleet) PaceSample(at time.Duration, did Span) report.PaceSample {
	s := report.PaceSample{
		T: rounded(at.Seconds()), OrdersPerS: rounded(did.Orders), CommitsPerS: rounded(did.Commits), CommitP90: millis(did.P90),
		Shares: make([]float64, len(did.Shares)),
	}
	for i, share := range did.Shares {
		s.Shares[i] = rounded(share)
	}
	for _, w := range f {
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
