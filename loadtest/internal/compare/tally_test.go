package compare

import (
	"testing"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
)

func TestTally_P95IsOfClicksThatGotANewCoupon(t *testing.T) {
	t.Parallel()
	of := func(answers ...func(*tally)) figures {
		at := newTally("x", &record.Latencies{})
		for _, answer := range answers {
			answer(at)
		}
		f := make(figures)
		at.p95s(f)
		return f
	}
	got := func(outcome string, try int, ms time.Duration) func(*tally) {
		return func(at *tally) {
			at.answered(Sale{}, 1, try, attack.Answer{Outcome: outcome, Latency: ms * time.Millisecond}, true)
		}
	}
	for name, c := range map[string]struct {
		f       figures
		newOnes float64
	}{
		"202 and 201 alike":                {of(got("accepted", 0, 10), got("confirmed", 0, 40)), 40},
		"whichever is first":               {of(got("confirmed", 0, 10), got("accepted", 0, 40)), 40},
		"not what the claimer has already": {of(got("accepted", 0, 10), got("replay", 0, 40)), 10},
		"after an answer that was lost":    {of(got("accepted", 0, 10), got("replay", 1, 40)), 40},
		"not a refusal":                    {of(got("accepted", 0, 10), got("sold_out", 1, 40)), 10},
		"nothing given out":                {of(got("sold_out", 0, 40)), 0},
	} {
		if p95 := c.f["x_new_coupon_p95_ms"]; p95 < c.newOnes || p95 > c.newOnes*1.01 {
			t.Errorf("%s: %v, want %v", name, c.f, c.newOnes)
		}
	}
}

func TestFigures_TheWriteRateSaysWhichRowsByWhichTime(t *testing.T) {
	t.Parallel()
	f := make(figures)
	f.wrote("x", 3000, 2*time.Second)
	if f["x_db_writes"] != 3000 || f["x_giving_out_s"] != 2 || f["x_db_writes_per_s_of_giving_out"] != 1500 || len(f) != 3 {
		t.Errorf("%v", f)
	}
}
