package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"sluice/loadtest/internal/pacer"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/wait"
)

// startAhead is from telling senders to start until the first attempt is due.
const startAhead = 200 * time.Millisecond

// run is one campaign.
type run struct {
	Config
	Target
	out      io.Writer
	schedule pacer.Schedule
	grace    time.Duration // that a sender has after its last attempt, for outcomes and to report
	senders  []*process

	stepUsage []Usage // of the steps that began

	mu      sync.Mutex // of what the senders said
	sending int        // senders that have not sent all
}

func (r *run) run(ctx context.Context) (o Outcome, err error) {
	o = Outcome{Planned: r.schedule.Attempts()}
	defer func() {
		for _, p := range r.senders {
			p.stop()
			status := p.close()
			if p.result == nil {
				p.died = status
			}
		}
		if err == nil {
			r.gather(&o)
		}
	}()
	if err := r.start(); err != nil {
		return o, err
	}
	if r.Started != nil {
		r.Started(r.pids())
	}
	o.Began = time.Now().Add(startAhead)
	for _, p := range r.senders {
		if err := p.tell(start{At: o.Began}); err != nil {
			return o, err
		}
	}
	r.watch(ctx, &o)
	return o, nil
}

// start starts all senders and gives each its part.
func (r *run) start() error {
	for part := range r.Processes {
		p, err := startProcess(r.Program, fmt.Sprintf("sender-%d", part))
		if err != nil {
			return err
		}
		r.senders = append(r.senders, p)
	}
	errs := make([]error, len(r.senders))
	var ready sync.WaitGroup
	for part, p := range r.senders {
		ready.Go(func() { errs[part] = p.awaitReady(r.plan(part)) })
	}
	ready.Wait()
	return errors.Join(errs...)
}

// pids are those of the senders.
func (r *run) pids() []int {
	pids := make([]int, len(r.senders))
	for i, p := range r.senders {
		pids[i] = p.pid
	}
	return pids
}

func (r *run) plan(part int) plan {
	p := plan{
		Mix: r.Mix, Arrivals: r.Arrivals, First: r.First, Part: part, Parts: r.Processes,
		Connections: r.Connections, Timeout: r.Timeout, OpensAt: r.OpensAt,
		JWT:     jwtSecrets{Key: r.Stack.Secrets.JWTHS256, Issuer: r.Stack.Secrets.JWTIssuer, Audience: r.Stack.Secrets.JWTAudience},
		Winners: mostWinners / r.Processes, Followers: mostFollowers / r.Processes,
	}
	for _, g := range r.Stack.Gateways {
		p.Gateways = append(p.Gateways, g.URL)
	}
	return p
}

// slack is what a sender may take longer than it should, on a busy machine.
const slack = 15 * time.Second

// watch hears the senders until all have reported or died. When ctx ends they are told to
// end, and one that takes far longer than it may is killed.
func (r *run) watch(ctx context.Context, o *Outcome) {
	r.sending = len(r.senders)
	sent, reported := make(chan struct{}), make(chan struct{})
	kill := r.killAfter(time.Until(o.Began) + r.schedule.Duration() + 2*r.Timeout + r.grace)
	defer kill.Stop()
	var listening sync.WaitGroup
	for _, p := range r.senders {
		listening.Go(func() { p.listen(func(m message) { r.heard(p, m, sent) }) })
	}
	go func() {
		listening.Wait()
		close(reported)
	}()
	stopTelling := r.tellProgress(o.Began)
	defer stopTelling()
	wait.For(ctx, time.Until(o.Began)) // what the machine does before is none of the attack's
	samples := r.sampleSteps(o.Began)
	select {
	case <-sent:
	case <-ctx.Done():
		o.Interrupted = true
		kill.Reset(r.Timeout + r.grace)
		for _, p := range r.senders {
			p.stop()
		}
		<-sent
	}
	o.Took = time.Since(o.Began)
	o.Usage, r.stepUsage = samples()
	<-reported
}

// sampleSteps samples CPU time now and whenever another step begins. What it returns ends
// that, and says what was used over all and in each step that began.
func (r *run) sampleSteps(began time.Time) (end func() (all Usage, steps []Usage)) {
	ctx, cancel := context.WithCancel(context.Background())
	samples := []cpuSample{r.sampleCPU()}
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for step := 1; step < r.schedule.Steps(); step++ {
			if !wait.For(ctx, time.Until(began.Add(r.schedule.Begins(step)))) {
				return
			}
			samples = append(samples, r.sampleCPU())
		}
	})
	return func() (all Usage, steps []Usage) {
		cancel()
		sampler.Wait()
		samples = append(samples, r.sampleCPU())
		for i := range samples[1:] {
			steps = append(steps, samples[i+1].since(samples[i]))
		}
		return samples[len(samples)-1].since(samples[0]), steps
	}
}

// killAfter ends the senders that have not ended by then.
func (r *run) killAfter(d time.Duration) *time.Timer {
	return time.AfterFunc(d, func() {
		for _, p := range r.senders {
			go p.close()
		}
	})
}

// heard keeps what a sender said last, and closes sent once all have sent all they had.
func (r *run) heard(p *process, m message, sent chan<- struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case m.Progress != nil:
		p.last = *m.Progress
	case m.Sent != nil:
		p.last = *m.Sent
	case m.Result != nil:
		p.last, p.result = m.Result.progress, m.Result
	}
	if m.Progress == nil && !p.sentAll {
		p.sentAll = true
		if r.sending--; r.sending == 0 {
			close(sent)
		}
	}
}

// gather adds up what the senders found.
func (r *run) gather(o *Outcome) {
	var (
		latencies record.Latencies
		steps     record.Latencies
		told      []Winner
	)
	by := make([]stepTally, r.schedule.Steps())
	o.Counts = make(map[string]int)
	for _, p := range r.senders {
		one := Sender{Name: p.name, Sent: p.last.Sent}
		o.Sent += p.last.Sent
		o.Buyers += p.last.Firsts
		for class, n := range p.last.Counts {
			o.Counts[class] += n
		}
		if o.Fault == "" {
			o.Fault = p.last.Fault
		}
		if res := p.result; res != nil {
			latencies.Merge(res.Latency) // drops nothing: senders have the same histograms
			steps.Merge(res.Steps)
			for i, step := range res.StepBy {
				by[i].add(step)
			}
			o.Late = o.Late.Plus(res.Late)
			told = append(told, res.Winners...)
			o.Unrecorded += res.Unrecorded
			o.Follows = o.Follows.plus(res.Follows)
			one.CPUSeconds, one.ResidentMB = res.CPUSeconds, res.ResidentMB
		} else {
			one.Died = p.died
		}
		o.Senders = append(o.Senders, one)
	}
	o.Latency, o.Winners, o.Steps = latencies.Summaries(), merged(told), r.steps(steps.Summaries(), by)
	o.Buyers = min(o.Buyers, int(r.Mix.Users)) // none comes twice before all have come
	o.Limit, o.Words = loadOf(o.outcomes(), o.Late, o.Usage).limit(r.Connections * r.Processes)
	o.limitOfSteps()
}

// steps are the schedule's, with what came of each.
func (r *run) steps(all map[string]record.Summary, by []stepTally) []Step {
	steps := make([]Step, r.schedule.Steps())
	for i := range steps {
		s := Step{PerSecond: r.schedule.Rate(i), Latency: make(map[string]record.Summary), Late: by[i].Late}
		for _, phase := range []string{phaseEarly, phaseInStock, phaseSoldOut, phaseClosed} {
			if l, found := all[stepClass(i, phase)]; found {
				s.Latency[phase] = l
				s.Answered += l.Count
			}
		}
		if i < len(r.stepUsage) {
			s.Usage = r.stepUsage[i]
		}
		s.Limit, s.Words = loadOf(by[i].Outcomes, s.Late, s.Usage).limit(r.Connections * r.Processes)
		steps[i] = s
	}
	return steps
}

// limitOfSteps has what the limit was be that of the first step that had one: over several
// rates figures are an average of what never was.
func (o *Outcome) limitOfSteps() {
	if len(o.Steps) < 2 || o.Limit == LimitUnknown {
		return
	}
	for i, s := range o.Steps {
		if s.Limit != LimitNone && s.Limit != LimitUnknown {
			o.Limit, o.Words = s.Limit, fmt.Sprintf("At %.0f attempts a second, step %d of %d: %s", s.PerSecond, i+1, len(o.Steps), s.Words)
			return
		}
	}
}
