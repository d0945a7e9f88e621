package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
)

// Result is what a bench found.
type Result struct {
	Report  report.Report
	figures map[string]report.Spread
	notes   []string
}

// NewResult is one of a bench of which only other packages measure parts.
func NewResult(c Config) Result {
	res := Result{Report: report.Report{Machine: report.ThisMachine(), Ratios: make(map[string]report.Spread), Config: map[string]any{"bench": c}}}
	res.Report.Verdict.Pass = true
	return res
}

// whereToLook for what bounds a part that has no profiles.
var whereToLook = map[string]string{
	PartSale:   "the CPU time of each process and how the workers paced themselves (processes, paces)",
	PartGrowth: "the curves of the CPU time of each program",
}

// Add puts in what another package measured for this bench.
func (r *Result) Add(part string, more report.Report) {
	rep := &r.Report
	rep.Verdict.Pass = rep.Verdict.Pass && more.Verdict.Pass
	rep.Verdict.Violations = append(rep.Verdict.Violations, more.Verdict.Violations...)
	for _, p := range more.Promises { // a ratio without is that part's own
		if p.Known {
			rep.Ratios[p.Name] = more.Ratios[p.Name]
			promise(rep, p, false, whereToLook[part])
		}
	}
	rep.Orders = rep.Orders.Plus(more.Orders)
	rep.Curves, rep.Words = append(rep.Curves, more.Curves...), append(rep.Words, more.Words...)
	rep.Sold = append(rep.Sold, more.Sold...)
	for _, left := range more.NotMeasured {
		if !slices.Contains(rep.NotMeasured, left) {
			rep.NotMeasured = append(rep.NotMeasured, left)
		}
	}
	if len(more.Processes) > 0 { // of one part at most: the sale
		rep.Processes, rep.Settings, rep.Paces = more.Processes, more.Settings, more.Paces
	}
	rep.Config[part] = more.Config
}

// result puts the figures together.
func (b *bench) result(ctx context.Context, ratios map[string]report.Spread) Result {
	res := Result{Report: b.rep, figures: report.Spreads(b.rounds), notes: b.notes()}
	res.Report.Ratios, res.Report.Machine = ratios, report.ThisMachine()
	b.promised(&res.Report)
	res.Report.Leave(report.Setup{Rounds: b.Rounds, Gateways: len(b.Stack.Gateways), Workers: len(b.Stack.Workers), Load: b.Stage, Connections: b.Many})
	res.Report.NotMeasured = append(res.Report.NotMeasured,
		"Queue wait and database writes a second, of refusals, acceptance and polls: the worker is halted, or has a backlog at once.")
	var ops []string
	for _, g := range b.Stack.Gateways {
		ops = append(ops, g.OpsURL)
	}
	var err, err2 error
	res.Report.Funnel, err = collect.Funnel(ctx, ops)
	res.Report.Orders, err2 = b.countOrders(ctx)
	if err := errors.Join(err, err2); err != nil {
		res.Report.Fail("scenario", "%v", err)
	}
	res.Report.Latency = b.latencies.Summaries()
	res.Report.Config = map[string]any{
		"bench": b.Config, "one_by_one": OneByOne(), "ratios": res.Report.Ratios, "rounds": b.rounds, "notes": res.notes,
	}
	return res
}

// measuredRatios are those of the rounds, and the figures that have targets of their own.
func (b *bench) measuredRatios() map[string]report.Spread {
	ratios := make(map[string]report.Spread)
	for _, r := range b.ratios() {
		if values := r.of(b.rounds); len(values) > 0 {
			ratios[r.name] = report.SpreadOf(values)
		}
	}
	all := report.Spreads(b.rounds)
	for _, name := range bounded {
		if figure, taken := all[name]; taken {
			ratios[name] = figure
		}
	}
	return ratios
}

// countOrders counts the rows; nobody pays or cancels here.
func (b *bench) countOrders(ctx context.Context) (o report.Orders, err error) {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	err = b.rows.DB.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE state <> 'rejected'), count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'rejected')
		FROM orders`).Scan(&o.Total, &o.Pending, &o.Rejected)
	if err != nil {
		return o, fmt.Errorf("cannot count orders: %w", err)
	}
	return o, nil
}
