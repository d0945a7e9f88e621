package campaign

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

func TestFunnelSince_CountsWhatCameAndLosesWhatAGatewayTookAlong(t *testing.T) {
	t.Parallel()
	layers := func(entered, soldOut int64) map[string]report.Layer {
		return map[string]report.Layer{"memory": {Entered: entered, Exits: map[string]int64{"sold_out": soldOut}}}
	}
	before := []funnelRead{{"a", 1, layers(100, 60)}, {"b", 2, layers(1000, 600)}}
	now := []funnelRead{{"a", 1, layers(150, 70)}, {"b", 3, layers(2000, 700)}, {"c", 4, layers(7, 0)}}
	got, restarted := funnelSince(before, now)
	if diff := cmp.Diff(layers(50+2000+7, 10+700), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"b"}, restarted); diff != "" {
		t.Error(diff)
	}
}

func TestMerged_AReservationThatSeveralWereToldOfIsOne(t *testing.T) {
	t.Parallel()
	a, b := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	queued, followed := []sale.Status{sale.StatusQueued}, []sale.Status{sale.StatusQueued, sale.StatusConfirmed}
	got := Outcome{Winners: merged([]Winner{{a, 1, false, queued}, {b, 0, true, queued}, {a, 1, true, followed}, {a, 1, false, queued}})}
	want := []sale.Seen{{RID: a.String(), Accepted: true, Statuses: followed}}
	if diff := cmp.Diff(want, got.Seen(1)); diff != "" || len(got.Winners) != 2 {
		t.Errorf("%d winners\n%s", len(got.Winners), diff)
	}
}

func TestWinners_AreBoundedAndKeepEachStatusOnce(t *testing.T) {
	t.Parallel()
	w := newWinners(1)
	a, b := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	firsts := []bool{w.answer(a, 3, false, sale.StatusQueued), w.answer(a, 3, true, sale.StatusQueued), w.answer(b, 3, true, sale.StatusQueued)}
	w.read(a, sale.StatusQueued)
	w.read(a, sale.StatusConfirmed)
	w.read(b, sale.StatusConfirmed)
	got, unrecorded := w.all()
	if diff := cmp.Diff([]Winner{{a, 3, true, []sale.Status{sale.StatusQueued, sale.StatusConfirmed}}}, got); diff != "" || unrecorded != 1 {
		t.Errorf("%d unrecorded\n%s", unrecorded, diff)
	}
	if diff := cmp.Diff([]bool{true, false, false}, firsts); diff != "" {
		t.Error(diff)
	}
}
