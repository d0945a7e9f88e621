package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
)

// Result is what a bench found.
type Result struct {
	Report  report.Report
	Ratios  map[string]Spread
	figures map[string]Spread
	notes   []string
}

// result puts the figures together.
func (b *bench) result(ctx context.Context) (Result, error) {
	res := Result{Report: b.rep, Ratios: make(map[string]Spread), figures: overall(b.rounds), notes: b.notes()}
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
			res.Ratios[r.name] = spread(values)
		}
	}
	res.Report.Latency, res.Report.Machine = b.latencies.Summaries(), report.ThisMachine()
	res.Report.Config = map[string]any{
		"bench": b.Config, "one_by_one": OneByOne(), "ratios": res.Ratios, "rounds": b.rounds, "notes": res.notes,
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

// Write writes the report, and the ratios as a member of their own into its
// report.json.
func (r Result) Write(dir string) error {
	if err := r.Report.Write(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, "report.json")
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot add ratios: %w", err)
	}
	var members map[string]any
	if err := json.Unmarshal(content, &members); err != nil {
		return fmt.Errorf("cannot add ratios: %w", err)
	}
	members["ratios"] = r.Ratios
	if content, err = json.MarshalIndent(members, "", "  "); err != nil {
		return fmt.Errorf("cannot add ratios: %w", err)
	}
	if err := os.WriteFile(path+".new", append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("cannot add ratios: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("cannot add ratios: %w", err)
	}
	return nil
}
