package pgstore

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// grown is a template of 5 coupons that became 10, and its sale that was given as many; the
// entries are those of before the template grew and of now.
func grown(t *testing.T, s *Store) (before, now sale.Entry, added sale.Adjustment) {
	t.Helper()
	loadedClaims(t, s, "gift", "newcomer", 5)
	before = entryOf(t, s, "gift")
	applyRule(t, s, rule("newcomer", 10))
	now = entryOf(t, s, "gift")
	added = sale.Adjustment{ID: "more", SaleID: "gift", Delta: 5}
	begin(t, s, added)
	return before, now, added
}

func TestApply_ATemplatesChangeIsNewsOfItsSale(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	before, now, _ := grown(t, s)
	if now.Rev != before.Rev+1 || !strings.Contains(string(now.Rule), `"total": 10`) || now.Paused {
		t.Errorf("of rev %d, was %d: %s", now.Rev, before.Rev, now.Rule)
	}
	applyRule(t, s, rule("newcomer", 10))
	if e := entryOf(t, s, "gift"); e.Rev != now.Rev {
		t.Errorf("no change, and it has rev %d after %d", e.Rev, now.Rev)
	}
}

func TestApply_TellsTheEntryThatHasTheRuleOfNow(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 5)
	weighty := claims("gift", "newcomer", 5)
	weighty.Weight = 7
	for name, c := range map[string]Catalogue{
		"template alone":      {Templates: []coupon.Rule{rule("newcomer", 6)}},
		"beside its sale":     {[]coupon.Rule{rule("newcomer", 7)}, []SaleConfig{claims("gift", "newcomer", 5)}},
		"with a sale changed": {[]coupon.Rule{rule("newcomer", 8)}, []SaleConfig{weighty}},
	} {
		applied, err := s.Apply(t.Context(), c)
		must(t, err)
		want := entryOf(t, s, "gift")
		told := []sale.Entry{applied.Templates[0].Entry}
		for _, a := range applied.Sales {
			told = append(told, a.Entry)
		}
		for _, e := range told {
			if diff := cmp.Diff(want, e); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

// Two rules under one number would leave the older one in the catalogue for good.
func TestApply_OfATemplateBesideOneThatGivesItASale(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 8 {
		template, gift := fmt.Sprint("t", i), fmt.Sprint("gift-", i)
		create(t, s, rule(template, 5))
		var group sync.WaitGroup
		told := make([]sale.Entry, 2)
		group.Go(func() {
			applied, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{claims(gift, template, 5)}})
			if err != nil {
				t.Error(err)
				return
			}
			told[0] = applied.Sales[0].Entry
		})
		group.Go(func() {
			applied, err := s.Apply(t.Context(), Catalogue{Templates: []coupon.Rule{rule(template, 6)}})
			if err != nil {
				t.Error(err)
				return
			}
			told[1] = applied.Templates[0].Entry
		})
		group.Wait()
		now := entryOf(t, s, gift)
		for _, e := range told {
			if e.Rev == now.Rev && string(e.Rule) != string(now.Rule) {
				t.Errorf("rev %d was told with %s, and is %s", e.Rev, e.Rule, now.Rule)
			}
		}
	}
}
