package compare

import (
	"context"
	"fmt"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
)

// Result is what a comparison found.
type Result struct {
	Report   report.Report
	config   Config // with the rounds that were finished
	notes    []string
	verdicts map[string]string // on Sluice, by part
}

// result puts the figures together.
func (r *run) result(ctx context.Context) (res Result, err error) {
	rep := r.rep
	rep.Latency, rep.Machine, rep.Ratios = r.latencies.Summaries(), report.ThisMachine(), report.Spreads(r.rounds)
	rep.QueueWait = r.queueWait()
	r.show(&rep)
	rep.Compared = r.compared(rep.Ratios)
	if r.ran(PartSale) {
		rep.Sold, rep.Promises = r.sold(rep.Ratios), promised(rep.Ratios)
	}
	r.words(&rep)
	if rep.Funnel, err = collect.Funnel(ctx, r.gatewayOps()); err != nil {
		return res, err
	}
	notes := r.notes()
	rep.Config = map[string]any{"compare": r.Config, "gateways": len(r.Stack.Gateways), "workers": len(r.Stack.Workers), "rounds": r.rounds, "writes": r.writes(), "notes": notes}
	return Result{Report: rep, config: r.Config, notes: notes, verdicts: r.verdicts()}, nil
}

// queueWait is that of claims, or of a sale of goods alone.
func (r *run) queueWait() report.QueueWait {
	if r.Only == PartSale {
		return collect.QueueWait(r.tickets)
	}
	return collect.ClaimWait(r.tickets)
}

// compared is a row for each system and template.
func (r *run) compared(all map[string]report.Spread) []report.Compared {
	if !r.ran(PartIncident) {
		return nil
	}
	var rows []report.Compared
	for _, system := range systems(ofCoupons()) {
		for _, s := range r.Sizes {
			name := fmt.Sprintf("%s_%d", system, s.Total)
			row := report.Compared{
				System: system, Total: int64(s.Total), Limit: s.Limit, Rounds: r.Rounds,
				Issued: all[name+"_issued"], Doubles: all[name+"_doubles"],
				DBWrites: all[system+"_db_writes"], DBWritesPerS: all[system+"_db_writes_per_s_of_giving_out"], NewP95MS: all[system+"_"+newCoupon+"_p95_ms"],
			}
			if held, ok := all[system+"_until_held_p95_ms"]; ok {
				row.HeldP95MS = held.Median
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// sold is a row for each system that sold goods.
func (r *run) sold(all map[string]report.Spread) []report.Sold {
	var rows []report.Sold
	for _, system := range systems(ofGoods()) {
		of := func(figure string) report.Spread { return all[saleFigure(system)+"_"+figure] }
		rows = append(rows, report.Sold{
			System: system, Units: int64(r.Sale.Units), Attempts: int64(r.Sale.attempts()), Rounds: r.Sale.Rounds,
			OrderLayer: of("order_layer"), LastOrderS: of("last_order_s"), UnitsS: of("until_units_s"),
			Orders: of("orders"), Over: of("over"), Doubles: of("doubles"),
			WinnerP95MS: of("winner_p95_ms"), RefusedP95MS: of("refused_p95_ms"), AttemptsPerS: of("attempts_per_s"),
			DBRows: of("db_rows"), DBRowsPerS: of("db_rows_per_s"), DBTransactions: of("db_transactions"), DBTransactionsPerS: of("db_transactions_per_s"),
		})
	}
	return rows
}

// systems are the baselines and Sluice, in the order of a round.
func systems(baselines []Baseline) []string {
	names := make([]string, 0, len(baselines)+1)
	for _, b := range baselines {
		names = append(names, b.Name())
	}
	return append(names, sluiceName)
}
