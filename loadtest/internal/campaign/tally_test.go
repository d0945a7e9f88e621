package campaign

import (
	"errors"
	"testing"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/mix"
)

func TestTally_ClassIsWhatTheSaleWasWhenTheAttemptWasAnswered(t *testing.T) {
	t.Parallel()
	now := time.Now()
	tally := newTally([]time.Time{now.Add(-time.Hour), now.Add(time.Minute)}, 1)
	answer := func(saleIndex int, outcome string, sent time.Time) {
		tally.answered(mix.Attempt{Sale: saleIndex}, 0, attack.Answer{Outcome: outcome, Sent: sent, Latency: time.Millisecond})
	}
	later := now.Add(time.Hour)
	answer(0, "accepted", now)
	answer(0, "replay", now)
	answer(0, "busy", now)
	answer(0, "sold_out", now)
	answer(0, "replay", later)
	answer(0, "unavailable", later)
	answer(0, "accepted", now) // was under way when it sold out
	answer(0, "fault", later)
	answer(0, "accepted", later) // a unit came back
	answer(0, "replay", later)
	answer(0, "closed", later)
	answer(1, "not_open", now)
	answer(1, "busy", now)
	answer(1, "replay", later)
	want := map[string]int{
		"in_stock.accepted": 3, "in_stock.replay": 3, "in_stock.busy": 1, "sold_out.sold_out": 1, "sold_out.replay": 1,
		"sold_out.unavailable": 1, "sold_out.fault": 1, "closed.closed": 1, "early.not_open": 1, "early.busy": 1,
	}
	got := tally.progress().Counts
	for class, n := range want {
		if got[class] != n || tally.latencies.Summaries()[class].Count != int64(n) {
			t.Errorf("%s: %d, want %d", class, got[class], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("classes %v", got)
	}
}

func TestTally_KeepsTheFirstFaultAndCountsRepeatsApart(t *testing.T) {
	t.Parallel()
	tally := newTally(make([]time.Time, 1), 1)
	at := time.Date(2026, 12, 1, 2, 0, 0, 5e6, time.UTC)
	for i, kind := range []mix.Kind{mix.KindBuyer, mix.KindRepeat, mix.KindKeyedRepeat, mix.KindSoldOut} {
		a := attack.Answer{Outcome: attack.OutcomeFault, Sent: at}
		if i > 0 {
			a.Err = errors.New([]string{"", "first", "second", "third"}[i])
		}
		tally.answered(mix.Attempt{Kind: kind}, 0, a)
	}
	tally.faulty(errors.New("last"))
	if p := tally.progress(); p.Sent != 4 || p.Firsts != 2 || p.Fault != "02:00:00.005 first" {
		t.Errorf("%+v", p)
	}
}
