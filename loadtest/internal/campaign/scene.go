package campaign

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
)

// Patience with a stack whose attack is over.
const (
	drainPatience = 5 * time.Minute  // for the last outcome, while there are ever fewer without
	stuckAfter    = 15 * time.Second // without a change it is given up
	restPatience  = 20 * time.Second // for all sales to come to rest, beside that
	statsPatience = 15 * time.Second // for the database's statistics
	judgePatience = 10 * time.Minute // for all of it
	sampleEvery   = 250 * time.Millisecond
	mostSamples   = 500 // of the timeline, about: a longer attack is sampled more rarely
)

// Scene is where a campaign is watched and judged.
type Scene struct {
	Config
	Target
	Stores  *collect.Stores   // for judging
	Watched *collect.Stores   // for watching the sale meanwhile: stores serve one caller at a time
	Running bool              // somebody else runs the stack, with settings that are not known here
	Info    func() stack.Info // of the stack as it is now: what is started again has another pid
}

// scene is one under way.
type scene struct {
	Scene
	out       io.Writer
	sales     []mix.Sale
	shown     int // place of the sale whose timeline is kept
	funnel    []funnelRead
	rows      int64 // written before
	senders   atomic.Pointer[[]int]
	watcher   *collect.Watcher
	timeline  []report.Sample
	stopWatch func()
}

// Play runs the campaign, watches the stack meanwhile, waits for the outcomes and judges
// every sale of the mix. When ctx ends early the report is of what happened until then.
func (s Scene) Play(ctx context.Context, out io.Writer) (report.Report, error) {
	p := &scene{Scene: s, out: out, sales: s.Mix.Expanded()}
	p.shown = max(0, slices.IndexFunc(p.sales, func(one mix.Sale) bool { return one.Role == mix.Hot }))
	if err := p.look(ctx); err != nil {
		return report.Report{}, err
	}
	p.Started = func(pids []int) { p.senders.Store(&pids) }
	o, err := Run(ctx, p.Config, p.Target, out)
	if err != nil {
		p.stopWatch()
		p.watcher.Stop(context.WithoutCancel(ctx), 0)
		return report.Report{}, err
	}
	p.say("sending over: %d of %d attempts in %s. %s", o.Sent, o.Planned, o.Took.Round(time.Millisecond), o.Words)

	// What follows is owed even to somebody who pressed Ctrl-C.
	judging, cancel := context.WithTimeout(context.WithoutCancel(ctx), judgePatience)
	defer cancel()
	return p.judge(judging, o), nil
}

// look reads what there is before the attack and begins to watch.
func (p *scene) look(ctx context.Context) (err error) {
	if p.funnel, err = readFunnels(ctx, p.Info()); err != nil {
		return err
	}
	if p.rows, err = p.Stores.Writes(ctx); err != nil {
		return err
	}
	p.watcher, err = collect.Watch(context.WithoutCancel(ctx), collect.Watched{
		Stack: p.Info, Name: "attack", Text: "Orders of all sales.",
		Tools: func() []int {
			if pids := p.senders.Load(); pids != nil {
				return *pids
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	p.stopWatch = p.watch(context.WithoutCancel(ctx))
	return nil
}

// watch keeps the timeline of the shown sale until it is stopped.
func (p *scene) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	every := max(sampleEvery, p.Arrivals.Lasts/mostSamples)
	watcher.Go(func() {
		p.Watched.Timeline(ctx, p.sales[p.shown].ID, time.Now().Add(startAhead), every, func(s report.Sample) {
			p.timeline = append(p.timeline, s)
		})
	})
	return sync.OnceFunc(func() {
		cancel()
		watcher.Wait()
	})
}

func (p *scene) say(format string, args ...any) {
	// A line that cannot be printed is no reason to stop.
	_, _ = fmt.Fprintf(p.out, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
