package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/shared/sale"
)

func wordsOf(r Report, f Found) string {
	r.Say(f)
	return strings.Join(r.Words, "\n")
}

func TestWords_SayWhatWasSeenWithItsScale(t *testing.T) {
	t.Parallel()
	good := Found{Buyers: 20_000, Attempts: 60_000, Units: 1000, Accepted: 1000, Ordered: 1000, Limit: "the tool, not the server, was the limit: 900 of 60000 attempts sent late"}
	rounds := good
	rounds.Rounds = 10
	for name, c := range map[string]struct {
		found Found
		want  []string
	}{
		"one round": {good, []string{
			"No oversell in 1 round of 20,000 buyers and 60,000 attempts for 1,000 units.",
			"Every one of 1,000 reservations answered 202 has its order.",
			"The tool, not the server, was the limit: 900 of 60000 attempts sent late.",
		}},
		"ten rounds": {rounds, []string{"No oversell in 10 rounds of 20,000 buyers"}},
		"rejected":   {Found{Accepted: 5, Ordered: 3, Rejected: 1}, []string{"Of 5 reservations answered 202 3 have their order, 1 was rejected, 1 is without an outcome."}},
		"broken": {Found{Attempts: 10, Units: 2, Oversold: 1, Doubles: 2, Unanswered: 3}, []string{
			"Oversold: 1 order beyond the units that there are, in 1 round of 10 attempts for 2 units.",
			"2 orders are beyond what their buyers may have.", "3 attempts had no answer.",
		}},
	} {
		got := wordsOf(Report{}, c.found)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q lacks %q", name, got, want)
			}
		}
	}
	if got := wordsOf(Report{}, Found{Attempts: 10, Units: 2, Oversold: 1}); strings.Contains(got, "No oversell") {
		t.Errorf("oversold, and it says %q", got)
	}
}

func TestWords_ComeFromTheFiguresThatThereAre(t *testing.T) {
	t.Parallel()
	r := Report{
		Funnel: map[string]Layer{sale.LayerAddress.String(): {Entered: 60_000}, sale.LayerReserve.String(): {Entered: 1850}},
		Latency: map[string]record.Summary{
			"in_stock.accepted": {Count: 1000, P50: 118, P99: 186}, "sold_out.sold_out": {Count: 56_000, P50: 0.65, P99: 3},
		},
		Writes: Writes{Rows: 2010, Seconds: 1.1}, DBWritesPerS: 1827.3, Machine: Machine{CPUs: 2},
		Processes: []Process{{Name: "gateway-0", Cores: 1}, {Name: OtherProcess, Cores: 0.9}},
		Promises:  []Promise{Promise{Text: "refusal_vs_empty", AtLeast: true, Bound: 0.9}.Judge(0.93), Promise{Text: "accept512_vs_empty", AtLeast: true, Bound: 0.4}.Judge(0.3)},
	}
	got := wordsOf(r, Found{Units: 1000, Rounds: 3})
	for _, want := range []string{
		"1,850 entered layer reserve, 1.85 for each unit", "Of 1,000 attempts accepted while there was stock half were answered within 118 ms and 99 of 100 within 186 ms",
		"1 of 2 bounds were held by the median of 3 rounds; not held: accept512_vs_empty (0.3, at least 0.4).",
		"56,000 attempts refused once it was sold out half were answered within 650 µs", "2,010 rows in the 1.1 s", "The machine was not quiet: everything else on the machine used 0.9 of 2 cores",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if got := wordsOf(r, Found{Attempts: 9, Units: 1000, Left: 950}); strings.Contains(got, "for each unit") || !strings.Contains(got, "for 1,000 units, of which 50 were of sales that sold out.") {
		t.Errorf("with units left it says %q", got)
	}
	r.Processes[1].Cores = 0.05
	if got := wordsOf(r, Found{}); !strings.Contains(got, "The machine was quiet") {
		t.Errorf("of a quiet machine: %q", got)
	}
	if got := wordsOf(Report{}, Found{}); got != "" {
		t.Errorf("of nothing it says %q", got)
	}
}

func TestWords_NeverClaimAnAbsolute(t *testing.T) {
	t.Parallel()
	r := full()
	r.Words, r.NotMeasured = nil, nil
	r.Say(Found{Rounds: 3, Buyers: 9, Attempts: 9, Units: 9, Accepted: 9, Ordered: 9, Limit: "the schedule was kept"})
	r.Leave(Setup{Load: time.Second, Connections: 1})
	said := strings.Join(slices.Concat(r.Words, r.NotMeasured), "\n")
	if absolute := regexp.MustCompile(`(?i)\b(zero|never|always|guarantee\w*|impossible|cannot)\b|%`).FindAllString(said, -1); absolute != nil {
		t.Errorf("%q in\n%s", absolute, said)
	}
}

func TestNotMeasured_FollowsFromTheSetup(t *testing.T) {
	t.Parallel()
	list := func(s Setup) string {
		r := Report{Machine: Machine{CPUs: 2}}
		r.Leave(s)
		return strings.Join(r.NotMeasured, "\n")
	}
	little := list(Setup{Gateways: 2, Workers: 1, Load: 15 * time.Second, Connections: 192})
	much := list(Setup{Rounds: 3, Gateways: 2, Workers: 1, Faults: true, Lifecycle: true, AddressLimits: true})
	if remote := list(Setup{Remote: true, TLS: true}); strings.Contains(remote, "loopback") || strings.Contains(remote, "TLS") || strings.Contains(remote, "shared 2 cores") {
		t.Errorf("of another machine it says %s", remote)
	}
	for _, always := range []string{"The network:", "TLS:", "2 gateways, 1 worker, the stores and the tool shared 2 cores", "Replicas:"} {
		if !strings.Contains(little, always) || !strings.Contains(much, always) {
			t.Errorf("%q is not in both:\n%s\n%s", always, little, much)
		}
	}
	for _, sometimes := range []string{"Repeats:", "for 15s", "192 connections", "Faults:", "What comes after the order:", "Limits by address:"} {
		if !strings.Contains(little, sometimes) || strings.Contains(much, sometimes[:7]) {
			t.Errorf("%q is not in the first alone:\n%s\n%s", sometimes, little, much)
		}
	}
}

func TestTables_ProcessesSettingsAndWordsForTheTerminal(t *testing.T) {
	t.Parallel()
	r := full()
	var out strings.Builder
	for _, print := range []error{r.PrintProcesses(&out), r.PrintSettings(&out), r.PrintWords(&out)} {
		if print != nil {
			t.Fatal(print)
		}
	}
	for _, want := range []string{"gateway-0  0.42", "2,032 rows inserted", "orders a transaction, on average  101", "No oversell in 1 round of 10 attempts.\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q lacks %q", out.String(), want)
		}
	}
	out.Reset()
	if (Report{}).PrintProcesses(&out) != nil || (Report{}).PrintSettings(&out) != nil || (Report{}).PrintWords(&out) != nil || out.String() != "" {
		t.Errorf("of nothing it prints %q", out.String())
	}
}
