package report

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

func TestWrite_EmptyReportHasEveryMember(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out", "demo")
	if err := (Report{Verdict: sale.Verdict{Pass: true}}).Write(dir); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	want := []string{"config", "db_writes_per_s", "funnel", "latency", "machine", "orders", "queue_wait", "timeline", "verdict"}
	if got := slices.Sorted(maps.Keys(members)); !slices.Equal(got, want) {
		t.Errorf("members %v, want %v", got, want)
	}
	compact := new(bytes.Buffer)
	if err := json.Compact(compact, raw); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"verdict":{"pass":true,"violations":[]}`, `"funnel":{}`, `"latency":{}`, `"config":{}`,
		`"orders":{"total":0,"pending":0,"paid":0,"expired":0,"cancelled":0,"rejected":0,"refunded":0}`,
		`"queue_wait":{"p50":0,"p95":0,"p99":0,"max":0,"buckets":[]}`, `"timeline":[]`,
	} {
		if !strings.Contains(compact.String(), part) {
			t.Errorf("report lacks %s:\n%s", part, compact)
		}
	}
}

func TestWrite_ListsOfFaultsAndMutantsAreNeverNull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := (Report{Faults: []Fault{{Row: "7"}}, Mutants: []Mutant{{Row: "7"}}}).Write(dir); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "null") || strings.Count(string(raw), `"violations": []`) != 2 {
		t.Errorf("report has lists that are none:\n%s", raw)
	}
}

func TestFail_TurnsTheVerdict(t *testing.T) {
	t.Parallel()
	r := Report{Verdict: sale.Verdict{Pass: true}}
	r.Fail("I3", "reservation %s vanished", "r1")
	var out bytes.Buffer
	if err := r.PrintVerdict(&out); err != nil {
		t.Fatal(err)
	}
	if want := "verdict: fail\n  I3  reservation r1 vanished\n"; out.String() != want {
		t.Errorf("printed %q, want %q", out.String(), want)
	}
}

func TestCountOrders_TotalLeavesRejectedOut(t *testing.T) {
	t.Parallel()
	got := CountOrders([]sale.Order{{State: sale.OrderPending}, {State: sale.OrderPaid}, {State: sale.OrderRejected}, {State: sale.OrderExpired}})
	if want := (Orders{Total: 3, Pending: 1, Paid: 1, Expired: 1, Rejected: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}

func TestTables_FunnelInOrderWithWhatPassedOn(t *testing.T) {
	t.Parallel()
	r := Report{
		Funnel: map[string]Layer{
			sale.LayerReserve.String(): {Entered: 40, Exits: map[string]int64{"sold_out": 5, "replay": 10, "busy": 0}},
			sale.LayerMemory.String():  {Entered: 100, Exits: map[string]int64{"sold_out": 60}},
		},
		Latency: map[string]record.Summary{"in_stock.accepted": {Count: 25, P50: 1.5, Max: 9}},
	}
	var out bytes.Buffer
	for _, print := range []func() error{func() error { return r.PrintFunnel(&out) }, func() error { return r.PrintLatency(&out) }} {
		if err := print(); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(out.String(), "\n")
	wants := [][]string{{"funnel", "entered"}, {"memory", "100", "60", "40", "sold_out 60"}, {"reserve", "40", "15", "25", "replay 10, sold_out 5"}}
	for i, want := range wants {
		at := 0
		for _, word := range want {
			next := strings.Index(lines[i][at:], word)
			if next < 0 {
				t.Fatalf("line %q lacks %q", lines[i], word)
			}
			at += next
		}
	}
	if !strings.Contains(out.String(), "in_stock.accepted") {
		t.Errorf("no latency line in\n%s", out.String())
	}
}
