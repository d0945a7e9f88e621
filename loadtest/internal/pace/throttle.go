package pace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
)

const throttleSales = 4

// throttle takes away a part of what the database commits, and gives it back.
func (r *run) throttle(ctx context.Context, f figures) (err error) {
	s, err := r.open(ctx, "throttle", "The database commits less, and then as much as before.", r.sales(throttleSales), fixed(r.Sweep[0])...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.limit(free, 0)
	s.demand()
	commits, best, err := s.bestUnderThrottle(ctx)
	if err != nil {
		return err
	}
	f["throttle_free_commits_per_s"] = commits
	s.watch.mark("paced")
	if err := s.stack.SetWorker(ctx, 0, r.paced()...); err != nil {
		return err
	}
	if err := s.pause(r.Settle); err != nil {
		return err
	}
	before, handedOver := s.read(ctx), s.handOvers()
	for _, step := range r.Steps {
		if err := s.step(ctx, step, commits, best[step.Name], f); err != nil {
			return err
		}
	}
	if n := s.handOvers() - handedOver; n > 0 {
		f["throttle_redelivered"] = s.read(ctx).Since(before, s.workers()).Redelivered / float64(n)
	}
	if err := s.freeAgain(ctx, f); err != nil {
		return err
	}
	return s.finish(ctx)
}

// bestUnderThrottle measures fixed settings without a throttle, which gives the commits a
// second to take a part of, and then under every throttle. What it returns is the best
// orders a second by step.
func (s *stage) bestUnderThrottle(ctx context.Context) (commits float64, best map[string]float64, err error) {
	best = make(map[string]float64)
	all := s.fewAndMany()
	for i, consumers := range all {
		if err := s.fix(ctx, consumers, i == 0); err != nil {
			return 0, nil, err
		}
		did, err := s.fixedFor(ctx, consumers)
		if err != nil {
			return 0, nil, err
		}
		if did.Orders > best[free.Name] {
			commits, best[free.Name] = did.Commits, did.Orders
		}
		s.run.say("throttle: %d consumers as fast as they can: %.0f orders/s in %.1f commits/s, p90 %.0f ms", consumers, did.Orders, did.Commits, millis(did.P90))
	}
	if s.run.Base > 0 {
		commits = float64(s.run.Base)
	}
	for i := len(all) - 1; i >= 0; i-- { // the last one runs
		if i < len(all)-1 {
			if err := s.fix(ctx, all[i], false); err != nil {
				return 0, nil, err
			}
		}
		if err := s.fixedSteps(ctx, all[i], commits, best); err != nil {
			return 0, nil, err
		}
	}
	return commits, best, nil
}

// freeAgain measures the fixed settings without a throttle once more. A machine that has
// become slower since the first time, or faster, has so for the pace as well, which is
// held against what was measured last.
func (s *stage) freeAgain(ctx context.Context, f figures) error {
	if _, taken := f[bestFigure(free.Name)]; !taken || s.run.Base > 0 {
		return nil
	}
	s.limit(free, 0)
	best := 0.0
	for _, consumers := range s.fewAndMany() {
		if err := s.fix(ctx, consumers, false); err != nil {
			return err
		}
		did, err := s.fixedFor(ctx, consumers)
		if err != nil {
			return err
		}
		best = max(best, did.Orders)
	}
	f.ratio(bestFigure(free.Name), f["throttle_free_orders_per_s"], best)
	f["throttle_free_before_orders_per_s"], f["throttle_free_best_fixed_orders_per_s"] = f["throttle_free_best_fixed_orders_per_s"], best
	s.run.say("throttle: as fast as they can once more: %.0f orders/s", best)
	return nil
}

// fewAndMany are the consumers of the fixed settings.
func (s *stage) fewAndMany() []int { return slices.Compact([]int{s.run.Sweep[0], s.run.many()}) }

// many consumers are as many as there are sales, at most: more are never used.
func (c Config) many() int { return c.Sweep[min(2, len(c.Sweep)-1)] }

func (s *stage) fixedSteps(ctx context.Context, consumers int, commits float64, best map[string]float64) error {
	for _, step := range s.run.Steps {
		if step.Over == 0 {
			continue // measured before
		}
		s.limit(step, commits)
		did, err := s.fixedFor(ctx, consumers)
		if err != nil {
			return err
		}
		best[step.Name] = max(best[step.Name], did.Orders)
		s.run.say("throttle: %d consumers as fast as they can, %s: %.0f orders/s in %.1f commits/s, p90 %.0f ms",
			consumers, step.Name, did.Orders, did.Commits, millis(did.P90))
	}
	s.limit(free, 0)
	return nil
}

// fix starts the worker again with a fixed setting, unless it runs with it already.
func (s *stage) fix(ctx context.Context, consumers int, already bool) error {
	s.watch.mark(fmt.Sprintf("fixed: %d consumers", consumers))
	if already {
		return nil
	}
	return s.stack.SetWorker(ctx, 0, fixed(consumers)...)
}

// fixedFor measures a worker with a fixed setting, once it has as many transactions in
// flight as it may have, and a time to warm up.
func (s *stage) fixedFor(ctx context.Context, consumers int) (collect.Span, error) {
	for deadline := time.Now().Add(2 * s.run.Settle); !s.uses(ctx, consumers) && time.Now().Before(deadline); {
		if err := s.pause(sampleEvery / 5); err != nil {
			return collect.Span{}, err
		}
	}
	if err := s.pause(s.run.Fixed / 3); err != nil {
		return collect.Span{}, err
	}
	return s.over(ctx, s.run.Fixed*2/3)
}

// uses reports whether a worker uses all its consumers, as far as it tells.
func (s *stage) uses(ctx context.Context, consumers int) bool {
	for _, w := range s.read(ctx) {
		if w.Told && w.Consumers < float64(consumers) {
			return false
		}
	}
	return true
}

// limit throttles to a part of the commits a second, and returns how many are left; 0
// is no limit.
func (s *stage) limit(step Step, commits float64) (left int) {
	left = s.run.Base
	if step.Over > 0 {
		left = max(1, int(commits)/step.Over)
	}
	s.proxy().LimitCommits(left)
	return left
}

// step changes the throttle and judges what the pace has become some time later.
func (s *stage) step(ctx context.Context, step Step, commits, best float64, f figures) error {
	left := s.limit(step, commits)
	text := fmt.Sprintf("%d commits/s", left)
	if left == 0 {
		text = "no throttle"
	}
	changed := s.watch.mark(text)
	if err := s.pause(s.run.Settle); err != nil {
		return err
	}
	judged := time.Since(s.watch.began)
	did, err := s.over(ctx, s.run.Judge)
	if err != nil {
		return err
	}
	name := "throttle_" + step.Name
	f.ratio(bestFigure(step.Name), did.Orders, best)
	f[name+"_orders_per_s"], f[name+"_best_fixed_orders_per_s"], f[name+"_commit_p90_ms"] = did.Orders, best, millis(did.P90)
	if left > 0 {
		f[name+"_vs_admitted"] = did.Orders / float64(left*s.run.Batch)
	}
	if ratios := p90Ratios(s.watch.since(judged)); len(ratios) > 0 {
		f[p90Figure(step.Name)] = report.SpreadOf(ratios).Median
	}
	if at, ok := settled(s.watch.since(changed), best); ok {
		f[name+"_within_s"] = rounded(at - changed.Seconds())
	}
	s.run.say("throttle: paced, %s: %.0f orders/s (best fixed %.0f), p90 %.0f ms", text, did.Orders, best, millis(did.P90))
	return nil
}

// p90Ratios are the p90s over their targets, of the samples that tell them.
func p90Ratios(samples []report.PaceSample) []float64 {
	var ratios []float64
	for _, s := range samples {
		if s.Told && s.Target > 0 {
			ratios = append(ratios, s.P90/s.Target)
		}
	}
	return ratios
}

// smooth is over how many samples a moment is judged.
const smooth = 4

// settled is from when on everything promised of throughput and p90 held, judged over
// a few samples at a time; false when it does not at the end.
func settled(samples []report.PaceSample, best float64) (at float64, ok bool) {
	for i := len(samples); i >= smooth; i-- {
		part := samples[i-smooth : i]
		rate := 0.0
		for _, s := range part {
			rate += s.OrdersPerS / smooth
		}
		ratios := p90Ratios(part)
		if rate < 0.8*best || len(ratios) == 0 || report.SpreadOf(ratios).Median > 1.5 {
			break
		}
		at, ok = part[0].T, true
	}
	return at, ok
}
