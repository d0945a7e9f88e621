package funnel

import (
	"slices"
	"testing"

	"sluice/shared/sale"
)

func TestMessage_ListsEveryReservationOnce(t *testing.T) {
	t.Parallel()
	waits := func(rid, forRID string) pending {
		return pending{&attempt{Attempt: sale.Attempt{RID: rid}}, &sale.Decision{Ticket: sale.Ticket{Reservation: sale.Reservation{RID: forRID}}}}
	}
	for name, tc := range map[string]struct {
		waiting []pending
		want    []string
	}{
		"their own":         {[]pending{waits("a", "a"), waits("b", "b")}, []string{"a", "b"}},
		"one of this call":  {[]pending{waits("a", "a"), waits("b", "a"), waits("c", "c"), waits("d", "a")}, []string{"a", "c"}},
		"one of before":     {[]pending{waits("b", "a"), waits("c", "a"), waits("d", "d")}, []string{"a", "d"}},
		"a later one, late": {[]pending{waits("a", "x"), waits("b", "b"), waits("c", "b")}, []string{"x", "b"}},
	} {
		h := message(&sale.Entry{Sale: sale.Sale{ID: "phone"}, Epoch: 3}, tc.waiting)
		var got []string
		for _, r := range h.Reservations {
			got = append(got, r.RID)
		}
		if !slices.Equal(got, tc.want) || h.SaleID != "phone" || h.Epoch != 3 {
			t.Errorf("%s: %v of sale %s, epoch %d, want %v", name, got, h.SaleID, h.Epoch, tc.want)
		}
	}
}
