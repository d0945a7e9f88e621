package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/report"
)

// Sluice's coupons are right as the judge sees them, and the same judge sees in the same
// run what is wrong beside it.
func TestCompare_QuickSeesOverIssueAndDoublesBesideSluice(t *testing.T) {
	t.Parallel()
	rep := quickComparison(t)
	if !rep.Verdict.Pass || len(rep.Compared) != 4 {
		t.Fatalf("verdict %+v, compared %+v", rep.Verdict, rep.Compared)
	}
	checkSold(t, rep)
	var over, doubles float64
	for _, c := range rep.Compared {
		switch c.System {
		case "incident":
			over, doubles = over+c.Over().Min, doubles+c.Doubles.Min
		case "sluice":
			if c.Over().Max != 0 || c.Doubles.Max != 0 || c.Issued.Min != float64(c.Total) || c.HeldP95MS <= 0 {
				t.Errorf("%+v", c)
			}
		default:
			t.Errorf("unknown system: %+v", c)
		}
		if c.DBWritesPerS.Min <= 0 || c.NewP95MS.Min <= 0 {
			t.Errorf("not measured: %+v", c)
		}
	}
	if over <= 0 || doubles <= 0 {
		t.Errorf("%v too many, %v doubles: the judge has seen nothing", over, doubles)
	}
	for _, figure := range []string{"claims_100_in_stock_p95_ms", "claims_200_in_stock_p95_ms", "claims_200_sold_out_p95_ms", "claims_200_until_held_p95_ms"} {
		if rep.Ratios[figure].Min <= 0 {
			t.Errorf("%s is %+v", figure, rep.Ratios[figure])
		}
	}
	goods := int(rep.Sold[0].Units)
	if rep.Orders.Paid == 0 || rep.Orders.Pending != goods || rep.Orders.Paid+goods != rep.Orders.Total {
		t.Errorf("orders %+v: a claim's is paid from birth, those of %d goods are not", rep.Orders, goods)
	}
}

// checkSold wants every system to have sold what it had, and Sluice no more than that.
func checkSold(t *testing.T, rep report.Report) {
	t.Helper()
	if len(rep.Sold) != 4 || len(rep.Promises) != 3 {
		t.Fatalf("sold %+v, promises %+v", rep.Sold, rep.Promises)
	}
	for _, s := range rep.Sold {
		wrong := s.System == "read_check_insert"
		if s.Orders.Min < float64(s.Units) || (s.Over.Min > 0) != wrong || !wrong && s.Doubles.Max > 0 {
			t.Errorf("%+v", s)
		}
		if s.OrderLayer.Min < float64(s.Units) || s.LastOrderS.Min <= 0 || s.UnitsS.Min <= 0 || s.WinnerP95MS.Min <= 0 || s.DBRowsPerS.Min <= 0 || s.DBTransactionsPerS.Min <= 0 {
			t.Errorf("not measured: %+v", s)
		}
	}
	for _, p := range rep.Promises {
		if !p.Known || rep.Ratios[p.Name].Median != p.Figure {
			t.Errorf("%+v, ratio %+v", p, rep.Ratios[p.Name])
		}
	}
	if len(rep.Processes) == 0 || len(rep.Settings) == 0 {
		t.Errorf("processes %+v, workers %+v", rep.Processes, rep.Settings)
	}
}

// quickComparison runs it, and holds what is printed against what is written.
func quickComparison(t *testing.T) (rep report.Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := compareCommand(ctx, []string{"-quick", "-out", out, "-bin", programs(t)}, func(string) string { return "" }, &stdout, &stderr)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stdout, &stderr)
	}
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	must(t, json.Unmarshal(content, &rep))
	page, err := os.ReadFile(filepath.Join(out, "report.html"))
	must(t, err)
	var rows [][]string
	for _, c := range rep.Compared {
		rows = append(rows, c.Cells())
	}
	for _, s := range rep.Sold {
		rows = append(rows, s.Cells())
	}
	for _, row := range rows {
		if !strings.Contains(stdout.String(), "| "+strings.Join(row, " | ")+" |") || !strings.Contains(string(page), "<td>"+row[1]+"</td>") {
			t.Errorf("not shown: %q", row)
		}
	}
	return rep
}

func TestCompare_UnknownPartIsRefused(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	for _, args := range [][]string{{"-only", "nothing"}, {"-rounds", "0"}} {
		if err := compareCommand(t.Context(), args, func(string) string { return "" }, &stdout, &stderr); err == nil {
			t.Errorf("%v is run", args)
		}
	}
}
