package pace

import (
	"testing"
	"time"

	"sluice/loadtest/internal/report"
)

// samples at every half second, of rates and p90s of a target of 50 ms.
func samples(rates, p90s []float64) []report.PaceSample {
	all := make([]report.PaceSample, len(rates))
	for i := range all {
		all[i] = report.PaceSample{T: float64(i) / 2, OrdersPerS: rates[i], Told: true, P90: p90s[i], Target: 50}
	}
	return all
}

func TestSettled_IsWhenEverythingHoldsForGood(t *testing.T) {
	t.Parallel()
	good, few := []float64{100, 100, 100, 100, 100, 100, 100, 100}, []float64{100, 100, 100, 100, 10, 10, 10, 10}
	fast, late := []float64{40, 40, 40, 40, 40, 40, 40, 40}, []float64{400, 400, 40, 40, 40, 40, 40, 40}
	for name, c := range map[string]struct {
		rates, p90s []float64
		at          float64
		ok          bool
	}{
		"at once":         {good, fast, 0, true},
		"after a while":   {good, late, 0.5, true}, // two of four are well
		"never":           {few, fast, 0, false},
		"hardly a sample": {good[:3], fast[:3], 0, false},
	} {
		if at, ok := settled(samples(c.rates, c.p90s), 110); at != c.at || ok != c.ok {
			t.Errorf("%s: at %v, %v", name, at, ok)
		}
	}
	untold := samples(good, fast)
	for i := range untold {
		untold[i].Told = false
	}
	if at, ok := settled(untold, 110); ok {
		t.Errorf("settled at %v though no worker tells its p90", at)
	}
}

func TestJudge_OnlyWhatIsBeyondAllToleranceFails(t *testing.T) {
	t.Parallel()
	judged := func(f figures) report.Report {
		r := &run{Config: Config{Only: []string{"drain"}, Rounds: 1}, rounds: []figures{f}}
		r.rep.Verdict.Pass = true
		r.judge()
		return r.rep
	}
	for _, c := range []struct {
		figures    figures
		held, pass bool
	}{
		{figures{"drain_vs_raw_batch": 0.8}, true, true},
		{figures{"drain_vs_raw_batch": 0.4}, false, true},
		{figures{"drain_vs_raw_batch": 0.1}, false, false},
		{figures{}, false, false},
	} {
		rep := judged(c.figures)
		if len(rep.Promises) != 1 || rep.Promises[0].Held != c.held || rep.Verdict.Pass != c.pass {
			t.Errorf("%v: %+v, %+v", c.figures, rep.Promises, rep.Verdict)
		}
	}
}

// Nothing over nothing is no number, and no report could be written with it.
func TestRatio_OverNothingIsAbsentAndSoNotHeld(t *testing.T) {
	t.Parallel()
	f := figures{}
	f.ratio("drain_vs_raw_batch", 0, 0)
	r := &run{Config: Config{Only: []string{"drain"}}, Site: Site{Out: t.TempDir()}, rounds: []figures{f}}
	r.judge()
	if err := r.rep.Write(r.Out); err != nil || r.rep.Verdict.Pass || len(r.rep.Ratios) > 0 {
		t.Errorf("%v, %+v", err, r.rep)
	}
}

func TestJudge_StepsThatWereNotTakenArePromisedNothing(t *testing.T) {
	t.Parallel()
	c := Quick()
	c.Only = []string{"throttle"}
	r := &run{Config: c, rounds: []figures{{}}}
	r.judge()
	for _, p := range r.rep.Promises {
		if p.Name == p90Figure("eighth") || p.Name == bestFigure("eighth") {
			t.Errorf("judged: %+v", p)
		}
	}
	if len(r.rep.Promises) != 5 {
		t.Errorf("%d promises", len(r.rep.Promises))
	}
}

func TestConfig_UnknownScenariosAndImpossibleBatchesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []Config{{Only: []string{"throttle", "fare"}, Batch: 25}, {Only: []string{""}, Batch: 25}, {Batch: 0}, {Batch: 251}, {Batch: 501}} {
		if c.Check() == nil {
			t.Errorf("%q, batch %d is taken", c.Only, c.Batch)
		}
	}
	c := Full()
	c.Only = Names()
	if err := c.Check(); err != nil || c.Rounds != 3 || c.Share != time.Minute {
		t.Errorf("%+v, %v", c, err)
	}
}
