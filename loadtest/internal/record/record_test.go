package record

import (
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/shared/sale"
)

func TestLatencies_SummaryOfEachClass(t *testing.T) {
	t.Parallel()
	var l Latencies
	for i := range 1000 {
		l.Add("in_stock.accepted", time.Duration(i+1)*time.Millisecond)
	}
	l.Add("sold_out.sold_out", 20*time.Microsecond)
	all := l.Summaries()
	got := all["in_stock.accepted"]
	for name, pair := range map[string][2]float64{"p50": {got.P50, 500}, "p95": {got.P95, 950}, "p99": {got.P99, 990}, "max": {got.Max, 1000}} {
		if diff := pair[0] - pair[1]; diff < -2 || diff > 2 {
			t.Errorf("%s is %v ms, want about %v", name, pair[0], pair[1])
		}
	}
	if got.Count != 1000 || all["sold_out.sold_out"].Count != 1 {
		t.Errorf("counts: %+v", all)
	}
}

func TestLatencies_OutOfRangeIsKept(t *testing.T) {
	t.Parallel()
	var l Latencies
	l.Add("x", -time.Second)
	l.Add("x", time.Hour)
	if got := l.Summaries()["x"]; got.Count != 2 || got.Max < 119_000 {
		t.Errorf("summary %+v", got)
	}
}

func TestWinners_AnswersOfOneReservationAreOneWinner(t *testing.T) {
	t.Parallel()
	var w Winners
	var clicks sync.WaitGroup
	firsts := make(chan bool, 5)
	for i := range 5 {
		clicks.Go(func() { firsts <- w.Answer(7, "t1", "r1", i == 3, sale.StatusQueued) })
	}
	clicks.Wait()
	close(firsts)
	n := 0
	for first := range firsts {
		if first {
			n++
		}
	}
	w.Status("r1", sale.StatusConfirmed)
	all := w.All()
	if n != 1 || len(all) != 1 || all[0].Answers != 5 || !all[0].Accepted {
		t.Fatalf("%d firsts, winners %+v", n, all)
	}
	if want := []sale.Status{sale.StatusQueued, sale.StatusConfirmed}; !slices.Equal(w.Seen()[0].Statuses, want) {
		t.Errorf("statuses %v, want %v", w.Seen()[0].Statuses, want)
	}
	if all[0].Last() != sale.StatusConfirmed {
		t.Errorf("last status %s", all[0].Last())
	}
}
