package growth

import (
	"context"
	"errors"
	"time"

	"sluice/loadtest/internal/stack"
)

// orders measures how fast the workers make orders of a backlog over several sales that is
// there before they go on.
func (t *site) orders(ctx context.Context, s setting, f figures) (err error) {
	resume, err := t.halt(ctx)
	defer func() { err = errors.Join(err, resume()) }()
	if err != nil {
		return err
	}
	if err := t.queue(ctx, t.Backlog); err != nil {
		return err
	}
	before, err := t.used()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := errors.Join(resume(), t.settle(ctx)); err != nil {
		return err
	}
	settled := time.Since(began)
	after, err := t.used()
	if err != nil {
		return err
	}
	made, err := t.Rows.Made(ctx, s.ids()...)
	if err != nil {
		return err
	}
	each, all := after.Since(before)
	for kind, spent := range each {
		f[s.figure("cpu_us_"+kind)] = spent.Seconds() * 1e6 / float64(t.Backlog)
	}
	f[s.figure("cpu_us")], f[s.figure("orders_per_s")] = all.Seconds()*1e6/float64(t.Backlog), made.PerSecond
	t.say("%-18s %7.0f orders/s, CPU %4.0f µs an order; %d settled after %.2f s", s.name(), made.PerSecond, f[s.figure("cpu_us")], t.Backlog, settled.Seconds())
	return errors.Join(t.memory(s, f), t.judge(ctx))
}

// halt halts all workers, until resume, which may be called more than once.
func (t *site) halt(ctx context.Context) (resume func() error, err error) {
	pids := make([]int, len(t.Info.Workers))
	for i, w := range t.Info.Workers {
		pids[i] = w.PID
	}
	return stack.HaltAll(ctx, pids...)
}
