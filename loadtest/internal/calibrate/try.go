package calibrate

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/campaign"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/pacer"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

// Try is one attack at one rate.
type Try struct {
	PerSecond float64 `json:"attempts_per_s"`
	Sent      int     `json:"sent"`
	Judged
	Admission float64        `json:"reached_admission_per_s"`
	OneSale   float64        `json:"one_sale_per_s"` // of those, for the busiest sale
	Limit     string         `json:"limit"`          // none, tool, connections, machine, server or unknown
	Words     string         `json:"limit_words"`
	Usage     campaign.Usage `json:"cores"`          // taken while it was tried
	Waiting   float64        `json:"waiting_before"` // reservations that earlier tries had left to the workers
	Decided   Verdict        `json:"decided"`        // what its rate was decided to be with this try

	counts  map[string]int
	latency map[string]record.Summary
}

// site is a stack that is tried.
type site struct {
	config Config
	stack  stack.Info
	target campaign.Target
	next   int // number of the first attempt that was not sent yet

	senders atomic.Pointer[[]int] // pids
}

// tools are the processes that send, or did last.
func (s *site) tools() []int {
	if pids := s.senders.Load(); pids != nil {
		return *pids
	}
	return nil
}

// attack sends attempts at one rate for so long. It is false when ctx ended before all
// were sent: then nothing is to be judged.
func (s *site) attack(ctx context.Context, perSecond float64, lasts time.Duration) (t Try, o Observed, complete bool, err error) {
	t.PerSecond = perSecond
	if t.Waiting, err = s.waiting(ctx); err != nil {
		return t, o, false, unlessEnded(ctx, err)
	}
	before, err := s.admission(ctx)
	if err != nil {
		return t, o, false, unlessEnded(ctx, err)
	}
	first := s.next
	found, err := campaign.Run(ctx, campaign.Config{
		Mix: s.config.Mix, Arrivals: pacer.Arrivals{Kind: pacer.KindConstant, PerSecond: []float64{perSecond}, Lasts: lasts},
		First: first, Processes: s.config.Processes, Connections: s.config.Connections / s.config.Processes, Timeout: s.config.Timeout, Quiet: true,
	}, s.target, io.Discard)
	s.next += found.Planned
	if err != nil || found.Interrupted || ctx.Err() != nil {
		return t, o, false, unlessEnded(ctx, err)
	}
	after, err := s.admission(ctx)
	if err != nil {
		return t, o, false, unlessEnded(ctx, err)
	}
	for _, sender := range found.Senders {
		if sender.Died != "" {
			return t, o, false, fmt.Errorf("%s of the attack died: %s", sender.Name, sender.Died)
		}
	}
	all, one := meant(s.config.Mix.Crowd(), first, found.Planned)
	t.Sent, t.Limit, t.Words, t.Usage = found.Sent, string(found.Limit), found.Words, found.Usage
	if found.Sent > 0 && all > 0 {
		t.Admission = perSecond * float64(after-before) / float64(found.Sent)
		t.OneSale = t.Admission * float64(one) / float64(all)
	}
	o = Observed{Planned: found.Planned, Sent: found.Sent, Counts: found.Counts, Latency: found.Latency, Late: lateBy(found.Late), Meant: all}
	o.Tool = found.Limit == campaign.LimitTool || found.Limit == campaign.LimitConnections
	o.Machine = found.Limit == campaign.LimitMachine || found.Usage.Taken()
	t.counts, t.latency = found.Counts, found.Latency
	return t, o, true, nil
}

// lateBy is by how much lateness may have raised a p99: not at all unless more than one
// attempt in a hundred was late.
func lateBy(l attack.Lateness) time.Duration {
	if l.Kept() {
		return 0
	}
	return l.Worst
}

// unlessEnded is the error, or none if it came of ctx's end.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// admission counts the attempts that reached admission so far, at all gateways.
func (s *site) admission(ctx context.Context) (int64, error) {
	urls := make([]string, len(s.stack.Gateways))
	for i, g := range s.stack.Gateways {
		urls[i] = g.OpsURL
	}
	layers, err := collect.Funnel(ctx, urls)
	if err != nil {
		return 0, err
	}
	return layers[sale.LayerAdmission.String()].Entered, nil
}

// looksEvery is how often the backlog is looked at: gateways read it once a second.
const looksEvery = 250 * time.Millisecond

// rest waits until workers have ordered what was accepted, so that the next try begins as
// the one before did; they are given some time at most.
func (s *site) rest(ctx context.Context) error {
	if s.config.Rest == 0 {
		return nil
	}
	// A gateway says what it read up to a second ago.
	if !wait.For(ctx, time.Second) {
		return nil
	}
	for deadline := time.Now().Add(s.config.Rest); time.Now().Before(deadline); {
		waiting, err := s.waiting(ctx)
		if err != nil || waiting == 0 {
			return unlessEnded(ctx, err)
		}
		if !wait.For(ctx, looksEvery) {
			return nil
		}
	}
	return nil
}

// waiting is how many reservations have no outcome, as a gateway knows it.
func (s *site) waiting(ctx context.Context) (float64, error) {
	g, err := collect.ReadGateway(ctx, s.stack.Gateways[0].OpsURL)
	return g.Waiting, err
}
