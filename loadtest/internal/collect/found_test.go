package collect

import (
	"testing"

	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

func TestFound_CountsWhatBecameOfWhatWasPromised(t *testing.T) {
	t.Parallel()
	order := func(rid, user string, state sale.OrderState, holds bool) sale.Order {
		return sale.Order{Reservation: sale.Reservation{RID: rid, UserID: user}, State: state, HoldsUnit: holds}
	}
	e := sale.Evidence{Total: 2, PerUserLimit: 1, Orders: []sale.Order{
		order("1", "ada", sale.OrderPending, true), order("2", "ada", sale.OrderPending, true),
		order("3", "bob", sale.OrderPaid, true), order("4", "cyn", sale.OrderRejected, false), order("5", "dan", sale.OrderExpired, false),
	}}
	for _, rid := range []string{"1", "3", "4", "5", "gone"} {
		e.Client = append(e.Client, sale.Seen{RID: rid, Accepted: true})
	}
	e.Client = append(e.Client, sale.Seen{RID: "2"}) // told by a 503
	want := report.Found{Units: 2, Accepted: 5, Ordered: 3, Rejected: 1, Oversold: 1, Doubles: 1}
	if got := Found(e); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	e.Redis.Stock, want.Left = 1, 2
	if got := Found(e); got != want {
		t.Errorf("with a unit left %+v, want %+v", got, want)
	}
}
