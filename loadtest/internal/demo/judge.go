package demo

import (
	"context"
	"fmt"
	"math"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// findings are what the run learnt beside the tally.
type findings struct {
	late         attack.Lateness
	writesBefore int64
	sample       sample
	interrupted  error // nil when the run came to its end
}

// judge audits the stores, reads the counters, and holds the facts against what
// the demonstration promises. What cannot be read is a failure in the report, not
// the end of it.
func (r *run) judge(ctx context.Context, f findings) report.Report {
	rep := report.Report{
		Verdict: sale.Verdict{Pass: true}, Latency: r.tally.latencies.Summaries(),
		Timeline: r.timeline, Machine: report.ThisMachine(), Config: r.config(f.late),
	}
	r.say("reading the stores until they are at rest")
	evidence, verdict, err := r.Stores.Audit(ctx, r.SaleID, r.tally.winners.Seen(), restPatience)
	if err == nil {
		rep.Verdict, rep.Orders = verdict, report.CountOrders(evidence.Orders)
		rep.QueueWait = collect.QueueWait(evidence.Redis.Tickets)
		rep.DBWritesPerS, err = r.writesPerSecond(ctx, f.writesBefore, evidence.Orders)
	}
	funnel, scraped := collect.Funnel(ctx, r.opsURLs())
	rep.Funnel = funnel
	for _, err := range []error{f.interrupted, err, scraped} {
		if err != nil {
			rep.Fail(scenario, "%v", err)
		}
	}
	for _, fact := range r.facts(evidence, rep, f.sample) {
		mark := "ok  "
		if !fact.holds {
			mark = "FAIL"
			rep.Fail(fact.invariant, "%s", fact.says)
		}
		r.say("%s  %s", mark, fact.says)
	}
	return rep
}

func (r *run) opsURLs() []string {
	urls := make([]string, len(r.Gateways))
	for i, g := range r.Gateways {
		urls[i] = g.OpsURL
	}
	return urls
}

func (r *run) config(late attack.Lateness) map[string]any {
	return map[string]any{
		"sale": r.SaleID, "units": Units, "buyers": Buyers, "attempts": Attempts, "gateways": len(r.Gateways),
		"early_attempts": earlyAttempts, "clickers": clickers, "clicks": clicks, "storm_attempts": storm,
		"early_rate": earlyRate, "opening_rate": openingRate, "storm_rate": stormRate,
		"connections": connections, "seed": seed, "lateness": late,
	}
}

// statsPatience is how long a Postgres connection may keep its statistics to
// itself, and a little more.
const (
	statsPatience = 12 * time.Second
	statsPause    = 250 * time.Millisecond
)

// writesPerSecond is the rows written since the start over the time from the
// opening until the last order, at least a second.
func (r *run) writesPerSecond(ctx context.Context, before int64, orders []sale.Order) (float64, error) {
	last := r.OpensAt
	for _, o := range orders {
		if o.CreatedAt.After(last) {
			last = o.CreatedAt
		}
	}
	deadline := time.Now().Add(statsPatience)
	for {
		now, err := r.Stores.Writes(ctx)
		if err != nil {
			return 0, err
		}
		// Every order is a row at least: fewer means that statistics are still to come.
		if written := now - before; written >= int64(len(orders)) || time.Now().After(deadline) {
			perSecond := float64(written) / max(1, last.Sub(r.OpensAt).Seconds())
			return math.Round(perSecond*10) / 10, nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("cannot count database writes: %w", ctx.Err())
		case <-time.After(statsPause):
		}
	}
}
