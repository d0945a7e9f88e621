package calibrate

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/campaign"
	"sluice/loadtest/internal/stack"
)

// calibrated is a run that ended as told, without the attacks.
func calibrated(found Found, tries ...Try) *run {
	r := &run{Config: Usual(), Target: Target{Stack: stack.Info{Gateways: make([]stack.GatewayInfo, 2)}}, tries: tries, found: found}
	r.conclude()
	return r
}

func passing(perSecond, p99 float64) Try {
	return Try{PerSecond: perSecond, Admission: perSecond, OneSale: perSecond, Judged: Judged{Verdict: Passes, Class: "in_stock.accepted", P99: p99}}
}

func failing(perSecond float64) Try {
	return Try{PerSecond: perSecond, Admission: perSecond, OneSale: perSecond, Judged: Judged{Verdict: Fails, Class: "in_stock.accepted", P99: 300, Refused: map[string]int{"busy": 12}}}
}

func printed(t *testing.T, r *run) string {
	t.Helper()
	var text bytes.Buffer
	if err := r.result().Print(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func wantAll(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
}

func TestResult_SaysWhatElseTookTheMachine(t *testing.T) {
	t.Parallel()
	quiet, loud := passing(1000, 10), passing(1000, 10)
	quiet.Usage = campaign.Usage{CPUs: 2, Machine: 1.55, Tool: 0.5, Stack: 1}
	loud.Usage = campaign.Usage{CPUs: 2, Machine: 1.95, Tool: 0.1, Stack: 0.6}
	found := Found{Pass: 1000}
	wantAll(t, printed(t, calibrated(found, loud, loud)), "The machine was not quiet: neither stack nor tool, but something else used 1.2 of its 2 cores meanwhile", "0.60, 0.10, 1.25")
	if text := printed(t, calibrated(found, quiet, quiet)); strings.Contains(text, "not quiet") {
		t.Errorf("a quiet machine is said not to be:\n%s", text)
	}
}

// What is recommended comes of the lesser of the tries that passed, and the wait of the
// slowest try at a rate that will be let through.
func TestConclude_TakesTheCautiousOne(t *testing.T) {
	t.Parallel()
	lesser := passing(4000, 70)
	lesser.Admission, lesser.OneSale = 3900, 1950
	r := calibrated(Found{Pass: 4000, Above: 4200, Why: Fails, Ended: true},
		passing(1000, 90), passing(2000, 10), passing(2000, 30), failing(3200), passing(4000, 50), lesser, failing(4200))
	want := Capacity{Admission: 3900, OneSale: 1950, Gateways: 2, Target: 100 * time.Millisecond, Calm: 30 * time.Millisecond}
	if r.capacity != want {
		t.Errorf("capacity %+v, want %+v", r.capacity, want)
	}
	if want := "gateway -admit-rate 1560 -admit-sale-rate 780 -admit-wait 35ms -reserve-line 512"; r.limits.Command() != want {
		t.Errorf("%s, want %s", r.limits.Command(), want)
	}
}

func TestResult_ShowsEveryTryAndTheLimits(t *testing.T) {
	t.Parallel()
	r := calibrated(Found{Pass: 4000, Above: 4200, Why: Fails, Ended: true}, passing(4000, 50), failing(4200))
	r.bound = []string{"Gateway 1 is limited already"}
	r.tries[0].Few = []string{"in_stock.replay"}
	text := printed(t, r)
	wantAll(t, text, "4,200", "12 busy", "300.0 ms", "All of them reached admission", "Gateway 1 is limited already", "p99 of in_stock.replay in 1 of 2 tries", "no sale was audited", "was not tried out", "on each of 2 gateways:\n\n  gateway -admit-rate 1600")
	curves := r.result().Report.Curves
	if len(curves) != 1 || len(curves[0].Points) != 2 || curves[0].Points[1].Size != 4200 || curves[0].Points[1].Median != 300 {
		t.Errorf("curves %+v", curves)
	}
}

func TestResult_WhatEndedEarlySaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	r := calibrated(Found{Pass: 2000}, passing(1000, 10), passing(2000, 10))
	r.ended = "it was told to end"
	wantAll(t, printed(t, r), "did not come to its end: it was told to end", "At 2,000 attempts a second", "the limit was not found", "gateway -admit-rate 800")
	if !r.result().Report.Verdict.Pass {
		t.Error("who stops it makes it fail")
	}
	r.ended, r.broken = "the stock ran out", true
	if v := r.result().Report.Verdict; v.Pass || len(v.Violations) != 1 || v.Violations[0].Detail != "the stock ran out" {
		t.Errorf("verdict %+v of a calibration that broke", v)
	}
}

func TestRun_AFaultInTheEndForgetsNothing(t *testing.T) {
	t.Parallel()
	r := calibrated(Found{Pass: 2000}, passing(2000, 10), passing(2000, 10))
	r.breaks(errors.New("cannot count orders"))
	r.breaks(errors.New("a worker did not stop"))
	wantAll(t, printed(t, r), "cannot count orders; a worker did not stop", "gateway -admit-rate 800")
	if r.result().Report.Verdict.Pass {
		t.Error("passes")
	}
}

func TestResult_WithoutARateThatPassesNothingIsRecommended(t *testing.T) {
	t.Parallel()
	r := calibrated(Found{Above: 20, Why: Fails, Ended: true}, failing(20), failing(20))
	text := printed(t, r)
	wantAll(t, text, "No rate passed", "Nothing is recommended")
	if strings.Contains(text, "-admit-rate") || r.result().Limits != nil {
		t.Errorf("limits all the same:\n%s", text)
	}
}

// flood is a confirmation at twice 4,000 a second with limits that let 3,200 through.
func flood(o Observed, busy float64) *Confirmed {
	c := &Confirmed{Try: Try{PerSecond: 8000, Words: "The tool took most of the machine"}, Times: 2, Said: 0.6, Busy: busy}
	c.Judged, _ = judgeFlood(o, 100)
	return c
}

func TestConfirmed_SaysWhetherTheLimitsHold(t *testing.T) {
	t.Parallel()
	good := func() Observed { return answers(1000, 60, "in_stock.accepted").and("in_stock.busy", 1500) }
	for name, c := range map[string]struct {
		o    Observed
		busy float64
		held []bool // p99, busy, otherwise refused
		says string
	}{
		"as said":               {good(), 0.6, []bool{true, true, true}, "60 % of what reached admission was told busy (60 % was said); p99 of what was let through was 60.0 ms and stayed under 100ms"},
		"too slow":              {answers(1000, 130, "in_stock.accepted").and("in_stock.busy", 1500), 0.6, []bool{false, true, true}, "did not stay under 100ms"},
		"too few were refused":  {good(), 0.4, []bool{true, false, true}, "40 % of what reached admission was told busy (60 % was said)"},
		"some were unavailable": {good().and("in_stock.unavailable", 3), 0.6, []bool{true, true, false}, "stayed under"},
		"some had no answer":    {good().and("in_stock.fault", 3), 0.6, []bool{true, true, false}, "3 had no answer"},
		"the tool was slow":     {answers(1000, 130, "in_stock.accepted").and("in_stock.busy", 1500).late(), 0.6, []bool{false, false, false}, "not proven on this machine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			confirmed := flood(c.o, c.busy)
			for i, p := range confirmed.promises(100 * time.Millisecond) {
				if p.Held != c.held[i] {
					t.Errorf("%s: held %v, found %s", p.Text, p.Held, p.Found())
				}
			}
			wantAll(t, confirmed.words(100*time.Millisecond), c.says)
		})
	}
}

// A pasted line goes where the report does not: that it may be too low goes with it.
func TestResult_ThePastedLineSaysWhenItIsALowerBound(t *testing.T) {
	t.Parallel()
	whole := passing(1000, 10)
	whole.Admission, whole.OneSale = 198, 198
	const line = "gateway -admit-rate 400 -admit-sale-rate 400 -admit-wait 25ms -reserve-line 512"
	for name, c := range map[string]struct {
		found Found
		tried Try
		line  string
	}{
		"seen to fail above":        {Found{1000, 1040, Fails, true}, passing(1000, 10), line + "\n"},
		"a mix refused from memory": {Found{1000, 1040, Fails, true}, whole, "# lower bound: this mix sent only 198/s to admission, and the stack was never asked for more there: do not set it for an opening"},
		"nothing failed":            {Found{1000, 0, Unknown, true}, passing(1000, 10), line + " # lower bound: no rate failed\n"},
		"unclear":                   {Found{1000, 1040, Unclear, true}, passing(1000, 10), line + " # lower bound: at 1,040/s it is unclear"},
		"told to end":               {Found{1000, 2000, Fails, false}, passing(1000, 10), line + " # lower bound: the search was ended between 1,000 and 2,000/s\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := calibrated(c.found, c.tried)
			text := printed(t, r)
			wantAll(t, text, c.line)
			if loud := strings.Contains(text, "LOWER BOUND"); loud != strings.Contains(text, "# lower bound") {
				t.Errorf("said in words: %v:\n%s", loud, text)
			}
			set := r.result().Report.Tables[0]
			if set.Title != "What to set" || set.Rows[0][1] != r.limits.Pasted() || !strings.Contains(set.Rows[1][1], "SLUICE_ADMIT_RATE=") {
				t.Errorf("table %+v", set)
			}
		})
	}
}

func TestTry_WhatIsUnclearDoesNotSayThatNothingWasTheLimit(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[Verdict]string{Passes: "none", Fails: "none", Unclear: "unknown"} {
		try := Try{Limit: "none", Judged: Judged{Verdict: verdict}}
		if try.unsure(); try.Limit != want {
			t.Errorf("%s: limit %s", verdict, try.Limit)
		}
	}
}

// A flood that decided nothing is shown beside the one that did.
func TestResult_KeepsEveryFloodAndSaysWhyItSteppedDown(t *testing.T) {
	t.Parallel()
	r := calibrated(Found{Pass: 4000, Above: 4200, Why: Fails, Ended: true}, passing(4000, 50))
	for _, f := range []struct {
		times, p99 float64
		o          Observed
		decided    Verdict
	}{
		{2, 450, Observed{Machine: true}, Unknown}, {2, 330, Observed{Machine: true}, Unclear},
		{1.5, 60, Observed{}, Unknown}, {1.5, 61, Observed{}, Passes},
	} {
		o := answers(1000, f.p99, "in_stock.accepted")
		o.Machine = f.o.Machine
		c := flood(o, 0.6)
		c.Times, c.Decided = f.times, f.decided
		r.floods = append(r.floods, *c)
	}
	r.confirmed, r.Running = &r.floods[3], true
	text := printed(t, r)
	wantAll(t, text, "450.0 ms", "330.0 ms", "60.0 ms", "with limits, 2 × unclear", "with limits, 1.5 × pass",
		"Floods of 2 × what passed decided nothing (p99 450.0 ms, unclear: p99 of in_stock.accepted above 100 ms; much of the full machine was not the stack's; p99 330.0 ms, unclear", "so a lesser one was tried",
		"on a stack of the tool's own, on the machine of the tool, and not on the stack that was calibrated")
	if kept := r.result().Report.Config["floods"].([]Confirmed); len(kept) != 4 {
		t.Errorf("%d floods in report.json", len(kept))
	}
	r.confirmed, r.Running, r.floods = nil, false, r.floods[:1]
	wantAll(t, printed(t, r), "450.0 ms", "No two floods agreed")
}
