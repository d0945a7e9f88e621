package demo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// funnelOf is a funnel that n attempts pass, all to leave by its last layer.
func funnelOf(n int64) map[string]report.Layer {
	layers := make(map[string]report.Layer)
	for _, layer := range sale.Layers() {
		layers[layer.String()] = report.Layer{Entered: n, Exits: map[string]int64{}}
	}
	layers[sale.LayerInstant.String()].Exits["accepted"] = n
	return layers
}

func TestConserved_AnAttemptThatLeavesByNoExitIsFound(t *testing.T) {
	t.Parallel()
	if got := conserved(funnelOf(10)); !got[0].holds {
		t.Errorf("a whole funnel: %+v", got)
	}
	leaky := funnelOf(10)
	leaky[sale.LayerToken.String()] = report.Layer{Entered: 9, Exits: map[string]int64{}}
	got := conserved(leaky)
	if got[0].holds || !strings.Contains(got[0].says, "memory passed on 10 attempts, 9 arrived") {
		t.Errorf("a leaky funnel: %+v", got)
	}
	twice := funnelOf(10)
	twice[sale.LayerInstant.String()].Exits["replay"] = 1
	if got := conserved(twice); got[0].holds {
		t.Errorf("an attempt that left twice: %+v", got)
	}
}

func TestDoubles_CountsBuyersNotOrders(t *testing.T) {
	t.Parallel()
	row := func(user string, holds bool) sale.Order {
		return sale.Order{Reservation: sale.Reservation{UserID: user}, HoldsUnit: holds}
	}
	if got := doubles([]sale.Order{row("ann", true), row("ann", false), row("bob", true)}); !got.holds {
		t.Errorf("a rejected duplicate counts: %+v", got)
	}
	if got := doubles([]sale.Order{row("ann", true), row("ann", true), row("ann", true)}); got.holds || !strings.HasPrefix(got.says, "1 buyers") {
		t.Errorf("three orders of one buyer: %+v", got)
	}
}

func TestTally_KeepsPhasesApart(t *testing.T) {
	t.Parallel()
	opens := time.Now().Add(-time.Minute)
	tally := newTally(opens)
	answer := func(outcome string, sent time.Time) { tally.answered(attack.Answer{Outcome: outcome, Sent: sent}) }
	answer(sale.NotOpen.String(), opens.Add(-time.Second))
	answer(sale.Accepted.String(), opens.Add(time.Second))
	answer(sale.SoldOut.String(), opens.Add(2*time.Second))
	answer(sale.Replay.String(), opens.Add(time.Second)) // sent before anybody knew
	answer(sale.Replay.String(), time.Now().Add(time.Second))
	for _, want := range []struct {
		phase, outcome string
		n              int
	}{
		{phaseEarly, sale.NotOpen.String(), 1}, {phaseInStock, sale.Accepted.String(), 1}, {phaseSoldOut, sale.SoldOut.String(), 1},
		{phaseInStock, sale.Replay.String(), 1}, {phaseSoldOut, sale.Replay.String(), 1},
	} {
		if got := tally.count(want.phase, want.outcome); got != want.n {
			t.Errorf("%d answers %s in phase %s, want %d", got, want.outcome, want.phase, want.n)
		}
	}
	if tally.total() != 5 || tally.sum(sale.Replay.String()) != 2 {
		t.Errorf("%d in total, %d replays", tally.total(), tally.sum(sale.Replay.String()))
	}
}

func TestOutcomes_A202WithoutAnOutcomeFails(t *testing.T) {
	t.Parallel()
	r := &run{tally: newTally(time.Now())}
	r.tally.winners.Answer(1, "t1", "r1", true, sale.StatusQueued)
	r.tally.winners.Status("r1", sale.StatusConfirmed)
	if got := r.outcomes(); len(got) != 1 || !got[0].holds {
		t.Errorf("everybody has an outcome: %+v", got)
	}
	r.tally.winners.Answer(2, "t2", "r2", true, sale.StatusQueued)
	r.tally.outcome(errors.New("gave up"))
	got := r.outcomes()
	if len(got) != 2 || got[0].holds || got[1].holds {
		t.Errorf("one is still queued: %+v", got)
	}
}
