package compare

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// plantGoods has a sale of 3 goods, one a buyer, that sold two, as it should be.
func plantGoods(t *testing.T) (*planting, *run) {
	t.Helper()
	p := plant(t)
	p.exec(`DELETE FROM ` + p.judge.schema + `.orders`)
	p.told, p.of = record.Winners{}, Sale{ID: "newcomer", Total: 3, Limit: 1, Goods: true}
	p.ordered("ada")
	p.ordered("bob")
	r := &run{db: p.judge.db, audited: make(map[string]*audited)}
	r.rep.Verdict.Pass = true
	return p, r
}

// ordered plants an order, and a buyer who was answered 202.
func (p *planting) ordered(user string) (rid string) {
	p.t.Helper()
	rid = uuid.NewString()
	p.order(rid, user, 1, "pending")
	p.tell(rid, sale.StatusQueued)
	return rid
}

func TestGoods_SeesWhatIsPlanted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plant func(p *planting)
		want  []string
	}{
		"all as it should be": {func(*planting) {}, nil},
		"orders too many": {func(p *planting) {
			for _, user := range []string{"cyn", "dan"} {
				p.ordered(user)
			}
		}, []string{"I1"}},
		"a buyer with two":       {func(p *planting) { p.ordered("ada") }, []string{"I2"}},
		"a 202 without an order": {func(p *planting) { p.tell("00000000-0000-4000-8000-000000000000", sale.StatusQueued) }, []string{"I3"}},
		"a rejected one holds no unit": {func(p *planting) {
			for range 3 {
				rid := p.ordered("eve")
				p.exec(`UPDATE `+p.judge.schema+`.orders SET state = 'rejected' WHERE id = $1`, rid)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, r := plantGoods(t)
			c.plant(p)
			made, err := p.judge.sold(t.Context(), p.of)
			must(t, err)
			must(t, r.goods(t.Context(), p.judge, selling{Sale: p.of, sold: made}, p.told.All()))
			var broken []string
			for _, v := range r.rep.Verdict.Violations {
				broken = append(broken, v.Invariant)
			}
			if !slices.Equal(broken, c.want) || r.rep.Verdict.Pass != (c.want == nil) {
				t.Errorf("broken: %v, want %v", r.rep.Verdict, c.want)
			}
		})
	}
}

func TestVerdictOn_ClaimsNothingOfWhatWasNotAuditedOrIsBroken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		audited *audited
		want    string
	}{
		"not audited":            {nil, "not all of its sales were audited"},
		"one of two":             {&audited{sales: 1}, "not all of its sales were audited"},
		"an invariant is broken": {&audited{sales: 2, broken: 1}, "see the violations"},
		"the audit counted more": {&audited{sales: 2, Found: report.Found{Oversold: 1}}, "see the violations"},
		"all right":              {&audited{sales: 2}, "no oversell and no double in 2 rounds"},
	} {
		r := run{audited: map[string]*audited{PartSale: c.audited}}
		if got := r.verdictOn(PartSale, 2, "2 rounds"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestShow_WritesAreOfOneRoundAndAreWhatTheRateIsMadeOf(t *testing.T) {
	t.Parallel()
	of := func(part string, round int, rows int64) shown {
		return shown{part, round, collect.Seen{Writing: 2 * time.Second}, rows}
	}
	r := run{shown: []shown{of(PartIncident, 0, 9000), of(PartSale, 0, 300), of(PartSale, 1, 100), of(PartSale, 2, 200)}}
	var rep report.Report
	r.show(&rep)
	if rep.Writes.Rows != 200 || rep.DBWritesPerS != 100 || !strings.Contains(r.limits[0], "round 3 of part sale") {
		t.Errorf("%+v, %v a second: %v", rep.Writes, rep.DBWritesPerS, r.limits)
	}
	if all := r.writes(); len(all[PartSale]) != 3 || len(all[PartIncident]) != 1 {
		t.Errorf("%+v", all)
	}
}

func TestCompareSales_LeavesOutATimeThatIsNotThere(t *testing.T) {
	t.Parallel()
	f := figures{"sale_sluice_last_order_s": 1, "sale_sluice_until_units_s": 1, "sale_read_check_insert_last_order_s": 9, "sale_read_check_insert_until_units_s": 3, "sale_conditional_update_last_order_s": 4}
	f.compareSales()
	_, there := f["sale_until_units_vs_conditional_update"]
	if f["sale_vs_read_check_insert"] != 9 || f["sale_until_units_vs_read_check_insert"] != 3 || there {
		t.Errorf("%v", f)
	}
	fresh := make(figures)
	fresh.sold(selling{system: "sale_x", Sale: Sale{Total: 3}, tally: newTally("sale_x", &record.Latencies{})}, collect.Activity{})
	if at, there := fresh["sale_x_until_units_s"]; there {
		t.Errorf("never were as many orders as units, yet after %v s", at)
	}
}
