package bench

import (
	"context"
	"fmt"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
)

// Result is what a bench found.
type Result struct {
	Report  report.Report
	figures map[string]report.Spread
	notes   []string
}

// result puts the figures together.
func (b *bench) result(ctx context.Context) (Result, error) {
	res := Result{Report: b.rep, figures: report.Spreads(b.rounds), notes: b.notes()}
	res.Report.Ratios = make(map[string]report.Spread)
	var ops []string
	for _, g := range b.Stack.Gateways {
		ops = append(ops, g.OpsURL)
	}
	var err error
	if res.Report.Funnel, err = collect.Funnel(ctx, ops); err != nil {
		return res, err
	}
	if res.Report.Orders, err = b.countOrders(ctx); err != nil {
		return res, err
	}
	for _, r := range b.ratios() {
		if values := r.of(b.rounds); len(values) > 0 {
			res.Report.Ratios[r.name] = report.SpreadOf(values)
		}
	}
	res.Report.Latency, res.Report.Machine = b.latencies.Summaries(), report.ThisMachine()
	res.Report.Config = map[string]any{
		"bench": b.Config, "one_by_one": OneByOne(), "ratios": res.Report.Ratios, "rounds": b.rounds, "notes": res.notes,
	}
	return res, nil
}

// countOrders counts the rows; nobody pays or cancels here.
func (b *bench) countOrders(ctx context.Context) (o report.Orders, err error) {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	err = b.db.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE state <> 'rejected'), count(*) FILTER (WHERE state = 'pending'), count(*) FILTER (WHERE state = 'rejected')
		FROM orders`).Scan(&o.Total, &o.Pending, &o.Rejected)
	if err != nil {
		return o, fmt.Errorf("cannot count orders: %w", err)
	}
	return o, nil
}
