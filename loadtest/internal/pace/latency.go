package pace

import (
	"context"
	"errors"
	"time"
)

const (
	latencySales = 8 // as many as the most consumers
	slowCommit   = 200 * time.Millisecond
)

// latency makes every commit slower than its target is, however few there are: the pace
// is not what makes them slow, and must not be lowered for it.
func (r *run) latency(ctx context.Context, f figures) (err error) {
	s, err := r.open(ctx, "latency", "Every commit takes 200 ms more, however few there are.", r.sales(latencySales), fixed(r.Sweep[0])...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.proxy().DelayCommits(slowCommit)
	s.demand()
	best, most := 0.0, 0
	for i, consumers := range r.Sweep {
		if err := s.fix(ctx, consumers, i == 0); err != nil {
			return err
		}
		did, err := s.fixedFor(ctx, consumers)
		if err != nil {
			return err
		}
		best, most = max(best, did.Orders), max(most, consumers)
		r.say("latency: %d consumers as fast as they can: %.0f orders/s, p90 %.0f ms", consumers, did.Orders, millis(did.P90))
	}
	s.watch.mark("paced")
	if err := s.stack.SetWorker(ctx, 0, consumersOf(most)...); err != nil {
		return err
	}
	if err := s.latencyPaced(ctx, best, f); err != nil {
		return err
	}
	return s.finish(ctx)
}

// latencyPaced judges a worker that paces itself, once it has had its time.
func (s *stage) latencyPaced(ctx context.Context, best float64, f figures) error {
	if err := s.pause(s.run.Slow); err != nil {
		return err
	}
	judged := time.Since(s.watch.began)
	did, err := s.over(ctx, s.run.Judge)
	if err != nil {
		return err
	}
	f.ratio("latency_vs_best_fixed", did.Orders, best)
	f["latency_orders_per_s"], f["latency_best_fixed_orders_per_s"], f["latency_commit_p90_ms"] = did.Orders, best, millis(did.P90)
	told, latency := 0, 0
	for _, sample := range s.watch.since(judged) {
		if sample.Told {
			told++
		}
		if sample.LimitedBy == "latency" {
			latency++
		}
	}
	if told > 0 {
		f["latency_limited_by_latency"] = float64(latency) / float64(told)
	}
	s.run.say("latency: paced: %.0f orders/s (best fixed %.0f), p90 %.0f ms, limited by latency in %d of %d samples", did.Orders, best, millis(did.P90), latency, told)
	return nil
}
