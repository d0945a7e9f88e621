package campaign

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// scenario is the invariant of what goes wrong with the attack itself.
const scenario = "scenario"

// findings are what the audits of all sales found.
type findings struct {
	found    report.Found
	orders   int // made since the attack began, by the clocks of Postgres and of this process
	tickets  []sale.Ticket
	restless []string     // sales that did not come to rest
	unread   map[int]bool // sales that could not be audited, by place
	watched  time.Duration
}

// judge audits every sale of the mix and writes down what was found. What cannot be read
// is a failure in the report, not the end of it.
func (p *scene) judge(ctx context.Context, o Outcome) report.Report {
	rep := report.Report{
		Verdict: sale.Verdict{Pass: true}, Latency: o.Latency, Machine: report.ThisMachine(), Config: p.config(o),
	}
	for _, s := range o.Senders {
		if s.Died != "" {
			rep.Fail(scenario, "%s ended before it reported (%s), after %d answers by its last word", s.Name, s.Died, s.Sent)
		}
	}
	ended := p.awaitOutcomes(ctx)
	// An audit reads whole sales, which is no part of what an attempt costs.
	watched := time.Since(o.Began)
	p.stopWatch()
	rep.Timeline = p.timeline
	seen := p.watcher.Stop(ctx, int64(o.Sent))
	f := p.audit(ctx, o, ended, &rep)
	f.watched = watched
	rep.QueueWait = collect.QueueWait(f.tickets)
	// Beside its row an order writes its share of the stock's, once for a whole batch.
	rows, err := p.Stores.Written(ctx, p.rows, int64(f.orders), statsPatience)
	if err != nil {
		rep.Fail(scenario, "%v", err)
	}
	seen.Show(&rep, rows)
	var restarted []string
	if now, err := readFunnels(ctx, p.Info()); err != nil {
		rep.Fail(scenario, "%v", err)
	} else {
		rep.Funnel, restarted = funnelSince(p.funnel, now)
	}
	p.words(&rep, o, f, restarted)
	return rep
}

// audit holds the stores against what buyers were told, sale by sale. Each has its time to
// come to rest once all outcomes are there; otherwise they have had theirs.
func (p *scene) audit(ctx context.Context, o Outcome, ended ending, rep *report.Report) findings {
	p.say("auditing %d sales", len(p.sales))
	f := findings{unread: make(map[int]bool)}
	deadline := time.Now().Add(restPatience)
	for i, one := range p.sales {
		patience := restPatience
		if ended != drained {
			patience = max(0, time.Until(deadline))
		}
		e, verdict, err := p.Stores.Audit(ctx, one.ID, o.Seen(i), patience)
		if err != nil {
			rep.Fail(scenario, "%v", err)
			f.unread[i] = true
			continue
		}
		if ended == falling {
			verdict = underWay(e)
		}
		f.add(e, verdict, o.Began, rep)
	}
	return f
}

// underWay judges a sale whose reservations came to their outcomes until patience was
// over: what is unfinished is late and not lost, even if nothing moved while it was read.
func underWay(e sale.Evidence) sale.Verdict {
	e.Waited = false
	return sale.Audit(e)
}

// add counts one audited sale. Its orders and tickets of this attack are told from others
// by the clocks of Postgres and Redis and that of this process.
func (f *findings) add(e sale.Evidence, verdict sale.Verdict, began time.Time, rep *report.Report) {
	f.found = f.found.Plus(collect.Found(e))
	for _, v := range verdict.Violations {
		rep.Fail(v.Invariant, "sale %s: %s", e.SaleID, v.Detail)
	}
	if !verdict.AtRest {
		f.restless = append(f.restless, e.SaleID)
	}
	mine := ordersOf(e, began)
	f.orders += len(mine)
	rep.Orders = rep.Orders.Plus(report.CountOrders(mine))
	for _, t := range e.Redis.Tickets {
		if t.AcceptedAt.After(began) {
			f.tickets = append(f.tickets, t)
		}
	}
}

// ordersOf are those of this attack: earlier ones may have left theirs in the same sale.
func ordersOf(e sale.Evidence, began time.Time) (mine []sale.Order) {
	accepted := make(map[string]bool)
	for _, seen := range e.Client {
		accepted[seen.RID] = seen.Accepted
	}
	for _, order := range e.Orders {
		if accepted[order.RID] || order.CreatedAt.After(began) {
			mine = append(mine, order)
		}
	}
	return mine
}

// scale is how much was tried in the sales that were audited.
func (f *findings) scale(c Config, o Outcome) {
	f.found.Buyers, f.found.Attempts, f.found.Partly = int64(o.Buyers), int64(o.Sent), o.Unrecorded > 0
	if len(f.unread) == 0 {
		return
	}
	f.found.Buyers, f.found.Attempts = 0, 0
	crowd := c.Mix.Crowd()
	for n := c.First; n < c.First+o.Sent; n++ { // they were sent in this order, nearly
		a := crowd.At(n)
		if f.unread[a.Sale] {
			continue
		}
		f.found.Attempts++
		if a.First() {
			f.found.Buyers++
		}
	}
	f.found.Buyers = min(f.found.Buyers, c.Mix.Users)
}

func (p *scene) config(o Outcome) map[string]any {
	senders := make(map[string]any)
	for _, s := range o.Senders {
		senders[s.Name] = s
	}
	steps := make(map[string]Step)
	for i, step := range o.Steps {
		steps[strconv.Itoa(i+1)] = step
	}
	return map[string]any{
		"mix": p.Mix.Listed(), "arrivals": p.Arrivals, "first_attempt": p.First, "processes": p.Processes, "connections_of_each": p.Connections,
		"timeout_s": p.Timeout.Seconds(), "gateways": len(p.Stack.Gateways), "workers": len(p.Stack.Workers), "timeline_of": p.sales[p.shown].ID,
		"planned": o.Planned, "sent": o.Sent, "buyers": o.Buyers, "took_s": o.Took.Seconds(), "sent_per_s": o.PerSecond(), "answers": o.Counts, "steps": steps, "lateness": o.Late,
		"limit": o.Limit, "cores": o.Usage, "follows": o.Follows, "winners": len(o.Winners), "first_fault": o.Fault, "interrupted": o.Interrupted,
		"senders": senders,
	}
}

// words say what was found and what the limit was, and what a reader might take for
// measured.
func (p *scene) words(rep *report.Report, o Outcome, f findings, restarted []string) {
	f.scale(p.Config, o)
	f.found.Unanswered, f.found.Limit = int64(o.By(attack.OutcomeFault)), o.Words
	rep.Words = append(o.nothingBought(), limitedBy(rep.Funnel)...)
	rep.Say(f.found)
	p.ofSending(rep, o)
	rep.Words = append(rep.Words, fmt.Sprintf("CPU, memory and how quiet the machine was are of the %s from the first attempt until reservations had their outcomes; the audit came after.", f.watched.Round(100*time.Millisecond)))
	if t, several := o.stepsTable(); several {
		rep.Tables = append(rep.Tables, t)
	}
	rep.Leave(report.Setup{
		Gateways: len(p.Stack.Gateways), Workers: len(p.Stack.Workers), Load: o.Took, Connections: p.Connections * p.Processes, Faults: len(restarted) > 0,
		AddressLimits: p.Running, Remote: remote(p.Stack), TLS: overTLS(p.Stack),
	})
	leave := func(format string, args ...any) {
		rep.NotMeasured = append(rep.NotMeasured, fmt.Sprintf(format, args...))
	}
	if o.Interrupted {
		leave("The rest of the attack: it was ended by hand after %s.", o.Took.Round(time.Millisecond))
	}
	if o.Follows.Skipped > 0 {
		leave("%d tickets that should have been followed: %d were at the time.", o.Follows.Skipped, mostFollowers)
	}
	if o.Unrecorded > 0 {
		leave("What winners were told beyond %d, in %d answers: the audit holds the stores against each other for all, and against the answers for those.", mostWinners, o.Unrecorded)
	}
	for i, one := range p.sales {
		if f.unread[i] {
			leave("Sale %s: its stores could not be read, so it is in no count of orders, units and reservations.", one.ID)
		}
	}
	for _, id := range f.restless {
		leave("The end of sale %s: it had not come to rest when it was audited.", id)
	}
	for _, s := range o.Senders {
		if s.Died != "" {
			leave("Latencies and winners of %s, which ended before it reported.", s.Name)
		}
	}
	for _, url := range restarted {
		leave("What the gateway at %s counted before it was started again: it is missing from the funnel.", url)
	}
}

// ofSending says what the senders saw.
func (p *scene) ofSending(rep *report.Report, o Outcome) {
	say := func(format string, args ...any) { rep.Words = append(rep.Words, fmt.Sprintf(format, args...)) }
	say("%d of %d attempts were sent, %.0f a second.", o.Sent, o.Planned, o.PerSecond())
	if o.Sent < o.Planned && !o.Interrupted && !o.died() {
		say("%d attempts could not be sent in the time there was. Latencies are of those that were; with the others they would be longer.", o.Planned-o.Sent)
	}
	if o.Fault != "" {
		say("The first fault: %s.", o.Fault)
	}
	for _, outcome := range o.unexpected() {
		say("%d attempts were answered %s, for which the mix gives no reason.", o.By(outcome), outcome)
	}
	if o.Follows.Tickets > 0 {
		say("The reference client followed %d tickets, of which %d came to an outcome.", o.Follows.Tickets, o.Follows.Outcomes)
	}
	if o.Follows.Hanging != "" {
		say("The first that did not: %s.", o.Follows.Hanging)
	}
}

func (o Outcome) died() bool {
	for _, s := range o.Senders {
		if s.Died != "" {
			return true
		}
	}
	return false
}

// unexpected are the outcomes that say that something is wrong with the attack or the
// sales, in the order of their names.
func (o Outcome) unexpected() []string {
	outcomes := make(map[string]bool)
	for class := range o.Counts {
		switch outcome := outcomeOf(class); outcome {
		case sale.Accepted.String(), sale.Confirmed.String(), sale.Replay.String(), sale.SoldOut.String(), sale.NotOpen.String(), sale.LimitReached.String(),
			sale.TooMany.String(), sale.Busy.String(), sale.Unavailable.String(), attack.OutcomeFault:
		default:
			outcomes[outcome] = true
		}
	}
	return slices.Sorted(maps.Keys(outcomes))
}
