package growth

import (
	"context"
	"errors"
	"fmt"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/wait"
)

// kept is the part of a rate that must have come, for figures at that rate to mean something.
const kept = 0.95

// accepts measures acceptance, token to 202 and on to the order.
func (t *site) accepts(ctx context.Context, s setting, f figures) error {
	if err := t.have(ctx, 0, f); err != nil {
		return err
	}
	if s.users > 0 { // before more have bought
		if err := t.memory(s, f); err != nil {
			return err
		}
	}
	if err := t.atRest(ctx, s, f); err != nil {
		return err
	}
	if err := t.atRate(ctx, s, f); err != nil {
		return err
	}
	if err := t.have(ctx, 1, f); err != nil {
		return err
	}
	if err := t.atMost(ctx, s, f); err != nil {
		return err
	}
	if err := errors.Join(t.settle(ctx), t.judge(ctx)); err != nil {
		return err
	}
	t.say("%-18s %7.0f /s at most; at %.0f /s: p99 %6.2f ms, CPU %4.0f µs an attempt, gateways %4.0f; at rest %.2f cores", s.name(),
		f[s.figure("accepts_per_s")], t.PerSecond, f[s.figure("p99_ms")], f[s.figure("cpu_us")], f[s.figure("cpu_us_gateways")], f[s.figure("rest_cores")])
	if s.users > 0 {
		return nil
	}
	return t.memory(s, f)
}

// atRest takes what the stack uses while nobody comes.
func (t *site) atRest(ctx context.Context, s setting, f figures) error {
	before, err := t.used()
	if err != nil {
		return err
	}
	if !wait.For(ctx, t.Stage) {
		return ctx.Err()
	}
	after, err := t.used()
	_, all := after.Since(before)
	f[s.figure("rest_cores")] = all.Seconds() / t.Stage.Seconds()
	return err
}

// atRate takes latency and CPU time at a rate: all of it, until the last order is made.
func (t *site) atRate(ctx context.Context, s setting, f figures) error {
	before, err := t.used()
	if err != nil {
		return err
	}
	l := t.demand()
	l.PerSecond = t.PerSecond
	m, err := t.send(ctx, l)
	if err != nil {
		return err
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	after, err := t.used()
	if m.PerSecond < kept*t.PerSecond {
		t.leftOut = append(t.leftOut, fmt.Sprintf("%s: %.0f of %.0f attempts a second were accepted in time", s.name(), m.PerSecond, t.PerSecond))
		return err
	}
	each, all := after.Since(before)
	attempts := float64(m.Wanted + m.Unwanted)
	for kind, spent := range each {
		f[s.figure("cpu_us_"+kind)] = spent.Seconds() * 1e6 / attempts
	}
	f[s.figure("cpu_us")], f[s.figure("p99_ms")] = all.Seconds()*1e6/attempts, m.Summary.P99
	return err
}

// atMost takes what a closed loop gets through.
func (t *site) atMost(ctx context.Context, s setting, f figures) error {
	m, err := t.send(ctx, t.demand())
	f[s.figure("accepts_per_s")] = m.PerSecond
	return err
}

// send sends for as long as a measurement lasts.
func (t *site) send(ctx context.Context, l loop.Load) (loop.Measurement, error) {
	l.Warm, l.Measured = t.Stage/6, t.Stage
	m, err := l.Run(ctx)
	t.sent(m)
	return m, err
}
