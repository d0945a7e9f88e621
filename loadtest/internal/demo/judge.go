package demo

import (
	"context"
	"errors"
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
	}
	funnel, scraped := collect.Funnel(ctx, r.opsURLs())
	rep.Funnel = funnel
	err = errors.Join(err, r.explain(ctx, &rep, f, evidence))
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
const statsPatience = 12 * time.Second

// explain puts what was watched and found into the report, with its words.
func (r *run) explain(ctx context.Context, rep *report.Report, f findings, e sale.Evidence) error {
	rows, err := r.Stores.Written(ctx, f.writesBefore, int64(rep.Orders.Total), statsPatience)
	r.seen.Show(rep, rows)
	found := collect.Found(e)
	found.Buyers, found.Attempts, found.Unanswered = Buyers, int64(r.tally.total()), int64(r.tally.sum(attack.OutcomeFault))
	found.Limit = f.late.String()
	rep.Say(found)
	rep.Leave(report.Setup{
		Gateways: len(r.Gateways), Workers: len(r.Stack().Workers), Load: r.crowd.attempts[len(r.crowd.attempts)-1].due, Connections: connections,
	})
	return err
}
