package campaign

import (
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// late is a sale with one reservation that was handed over and has no order yet, which
// nothing was done about while it was read.
func late() sale.Evidence {
	return sale.Evidence{
		SaleID: "slow", Total: 5, Configured: 5, PerUserLimit: 1, HandedOver: []string{"r1"}, Still: true, Waited: true,
		Redis: sale.RedisEvidence{
			Loaded: 5, Stock: 4, Accepted: 1, Rank: 1, Buyers: []string{"u1"},
			Tickets: []sale.Ticket{{Reservation: sale.Reservation{RID: "r1", UserID: "u1", Slot: 1, Rank: 1}, Status: sale.StatusQueued}},
		},
	}
}

func TestUnderWay_ABacklogThatIsSlowIsNotLost(t *testing.T) {
	t.Parallel()
	if v := sale.Audit(late()); v.Pass {
		t.Fatalf("nothing is wrong with what has no order in the end: %+v", v)
	}
	if v := underWay(late()); !v.Pass || v.AtRest {
		t.Errorf("%+v", v)
	}
}

func TestFindings_TheScaleIsOfTheSalesThatWereAudited(t *testing.T) {
	t.Parallel()
	c := Config{Mix: mix.Usual()}
	hot := 0
	for n, crowd := 0, c.Mix.Crowd(); n < 10_000; n++ {
		if crowd.At(n).Sale == 0 {
			hot++
		}
	}
	o := Outcome{Sent: 10_000, Buyers: 9200, Unrecorded: 3}
	all, rest := findings{}, findings{unread: map[int]bool{0: true}}
	all.scale(c, o)
	rest.scale(c, o)
	if all.found.Attempts != 10_000 || all.found.Buyers != 9200 || int(rest.found.Attempts) != 10_000-hot || rest.found.Buyers >= rest.found.Attempts || rest.found.Buyers == 0 {
		t.Errorf("all %+v, without the hot sale's %d %+v", all.found, hot, rest.found)
	}
	all.found.Accepted, all.found.Ordered = 2, 2
	var rep report.Report
	if rep.Say(all.found); !strings.Contains(strings.Join(rep.Words, "\n"), "Every one of 2 reservations answered 202 that were kept has its order") {
		t.Errorf("%q", rep.Words)
	}
}

func TestFindings_CountsWhatCameOfTheAttack(t *testing.T) {
	t.Parallel()
	began := time.Now()
	e := late()
	e.Redis.Tickets[0].AcceptedAt = began.Add(time.Second)
	e.Orders = []sale.Order{{Reservation: sale.Reservation{RID: "r0"}, CreatedAt: began.Add(-time.Hour)}, {Reservation: sale.Reservation{RID: "r2"}, CreatedAt: began.Add(time.Second)}}
	var f findings
	var rep report.Report
	f.add(e, sale.Verdict{}, began, &rep)
	if rep.Orders.Total != 1 {
		t.Errorf("%+v: an order of an attack before counts", rep.Orders)
	}
	if f.orders != 1 || len(f.tickets) != 1 || len(f.restless) != 1 || f.restless[0] != "slow" {
		t.Errorf("%+v", f)
	}
}
