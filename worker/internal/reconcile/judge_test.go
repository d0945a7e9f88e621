package reconcile

import (
	"testing"
	"time"

	"sluice/shared/sale"
)

// resting is a look at a sale of 10 units of which 4 are held, at rest.
func resting() look {
	return look{
		at: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC), still: true, inRedis: true, idle: true,
		holdings: sale.Holdings{Total: 10, Held: 4, Holding: 4, Orders: 4},
		snapshot: sale.Snapshot{Total: 10, Stock: 6, Rank: 4, Accepted: 4, Served: 4, Now: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)},
	}
}

const stuck = time.Minute

func TestJudge_WhatIsUnderWayIsNoDeviation(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(*look){
		"nothing": func(*look) {},
		"a reservation not handed over yet": func(l *look) {
			l.snapshot.Stock, l.snapshot.Rank, l.handOff = 5, 5, sale.HandOff{Count: 1, Oldest: l.snapshot.Now.Add(-5 * time.Second)}
		},
		"a reservation handed over":                         func(l *look) { l.snapshot.Stock, l.snapshot.Rank, l.idle = 5, 5, false },
		"a release not applied":                             func(l *look) { l.holdings.Held, l.holdings.Holding, l.holdings.Unapplied = 3, 3, 1 },
		"a total that Redis has yet to hear of":             func(l *look) { l.holdings.Total = 12 },
		"a decrease that Postgres has yet to hear of":       func(l *look) { l.snapshot.Total, l.snapshot.Stock = 8, 4 },
		"orders that came in between":                       func(l *look) { l.still, l.holdings.Held, l.holdings.Holding = false, 6, 6 },
		"an order not shown yet":                            func(l *look) { l.holdings.Unshown, l.holdings.OldestUnshown = 1, "rid" },
		"a rebuild":                                         func(l *look) { l.holdings.Entry.Rebuilding, l.inRedis, l.snapshot = true, false, sale.Snapshot{} },
		"a Redis that was just lost":                        func(l *look) { l.inRedis, l.snapshot = false, sale.Snapshot{} },
		"a hand-over just lost":                             func(l *look) { l.snapshot.Stock, l.snapshot.Rank = 5, 5 },
		"a stock that is low, and a release on its way":     func(l *look) { l.snapshot.Stock, l.holdings.Unapplied = 3, 2 },
		"a stock that is low, and a hand-over not yet read": func(l *look) { l.snapshot.Stock, l.idle = 3, false },
	} {
		l := resting()
		move(&l)
		for _, f := range judge(l, sale.Reconciliation{}, stuck) {
			if f.Counts {
				t.Errorf("with %s: %+v", name, f)
			}
		}
	}
}

func TestJudge_WhatLastsCountsOnceItIsOldAndTheSame(t *testing.T) {
	t.Parallel()
	l := resting()
	l.holdings.Unshown, l.holdings.OldestUnshown = 2, "one"
	last := sale.Reconciliation{Findings: judge(l, sale.Reconciliation{}, stuck)}
	if len(last.Findings) != 1 || last.Findings[0].Counts {
		t.Fatalf("at first: %+v", last.Findings)
	}
	l.at = l.at.Add(stuck)
	other := l
	other.holdings.OldestUnshown = "another"
	if got := judge(other, last, stuck); len(got) != 1 || got[0].Counts || !got[0].Since.Equal(l.at) {
		t.Errorf("another order: %+v", got)
	}
	if got := judge(l, last, stuck); len(got) != 1 || !got[0].Counts || got[0].Amount != 2 || !got[0].Since.Equal(last.Findings[0].Since) {
		t.Errorf("the same order: %+v", got)
	}
}

func TestAgreed_OnlyWhatBothLooksSay(t *testing.T) {
	t.Parallel()
	a := []sale.Finding{{Kind: StockHigh, Amount: 1}, {Kind: HeldRows, Amount: 1}, {Kind: UnshownStuck, Amount: 1, Mark: "a"}}
	b := []sale.Finding{{Kind: StockHigh, Amount: 2}, {Kind: HeldRows, Amount: 1}, {Kind: UnshownStuck, Amount: 1, Mark: "b"}}
	if got := agreed(a, b); len(got) != 1 || got[0].Kind != HeldRows {
		t.Errorf("%+v", got)
	}
}
