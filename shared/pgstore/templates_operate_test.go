package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

func create(t testing.TB, s *Store, r coupon.Rule) coupon.Standing {
	t.Helper()
	made, created, err := s.CreateTemplate(t.Context(), ada, r)
	must(t, err)
	if !created {
		t.Fatalf("template %s was there", r.ID)
	}
	return made
}

// actionsOn are those in the audit log about a subject, oldest first.
func actionsOn(t testing.TB, s *Store, subject string) (found []sale.Action) {
	t.Helper()
	log, err := s.AuditLog(t.Context(), "", sale.Page{Limit: 100})
	must(t, err)
	for _, c := range slices.Backward(log) {
		if c.Subject == subject {
			found = append(found, c.Action)
		}
	}
	return found
}

func TestCreateTemplate_AgainIsTheSameAndAnotherRuleIsRefused(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	made := create(t, s, rule("newcomer", 5))
	if diff := cmp.Diff(canonicalRule(rule("newcomer", 5)), made.Rule); diff != "" || made.SaleID != "" || made.OffShelf() {
		t.Errorf("made %+v, rule (-want +got):\n%s", made, diff)
	}
	again, created, err := s.CreateTemplate(t.Context(), ada, rule("newcomer", 5))
	if err != nil || created || cmp.Diff(made, again) != "" {
		t.Errorf("again: %+v, created %v, %v", again, created, err)
	}
	if _, _, err := s.CreateTemplate(t.Context(), ada, rule("newcomer", 6)); !errors.Is(err, ErrTemplateTaken) {
		t.Errorf("another rule: %v", err)
	}
	bad := rule("bad", 1)
	bad.Bearers = nil
	if _, _, err := s.CreateTemplate(t.Context(), ada, bad); err == nil {
		t.Error("a rule that contradicts itself was taken")
	}
	if got := actionsOn(t, s, "newcomer"); !slices.Equal(got, []sale.Action{sale.ActionTemplateCreate}) {
		t.Errorf("the log has %v", got)
	}
}

func TestCopyTemplate_HasTheRuleAndNothingGivenOut(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 5)
	exec(t, s, `UPDATE coupon_templates SET issued = 5, off_shelf_at = now()`)
	more := int64(9)
	for id, total := range map[string]*int64{"same": nil, "more": &more} {
		copied, created, err := s.CopyTemplate(t.Context(), ada, "newcomer", id, total)
		must(t, err)
		want := canonicalRule(rule(id, 5))
		if total != nil {
			want.Total = *total
		}
		if diff := cmp.Diff(want, copied.Rule); diff != "" || !created || copied.CopiedFrom != "newcomer" || copied.SaleID != "" || copied.OffShelf() {
			t.Errorf("%s: %+v, rule (-want +got):\n%s", id, copied, diff)
		}
		if again, created, err := s.CopyTemplate(t.Context(), ada, "newcomer", id, total); err != nil || created || cmp.Diff(copied, again) != "" {
			t.Errorf("%s again: %+v, created %v, %v", id, again, created, err)
		}
	}
	create(t, s, rule("alike", 5))
	for id, from := range map[string]string{"newcomer": "newcomer", "alike": "newcomer", "more": "newcomer", "same": "more"} {
		if _, _, err := s.CopyTemplate(t.Context(), ada, from, id, nil); !errors.Is(err, ErrTemplateTaken) {
			t.Errorf("%s of %s: %v", id, from, err)
		}
	}
	if _, _, err := s.CopyTemplate(t.Context(), ada, "absent", "new", nil); !errors.Is(err, ErrNoTemplate) {
		t.Errorf("of none: %v", err)
	}
	apply(t, s, claims("again", "more", 9))
}

func TestTakeOffShelf_PausesItsSaleAndKeepsItSo(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 5)
	before := entryOf(t, s, "gift")
	off, err := s.TakeOffShelf(t.Context(), ada, "newcomer")
	must(t, err)
	after := entryOf(t, s, "gift")
	if !off.OffShelf() || off.SaleID != "gift" || !after.Paused || after.Rev != before.Rev+1 {
		t.Errorf("template %+v, sale %+v", off, after)
	}
	again, err := s.TakeOffShelf(t.Context(), ada, "newcomer")
	if err != nil || cmp.Diff(off, again) != "" || entryOf(t, s, "gift").Rev != after.Rev {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := s.SetPaused(t.Context(), ada, "gift", false); !errors.Is(err, ErrOffShelf) {
		t.Errorf("resumed: %v", err)
	}
	if e := entryOf(t, s, "gift"); !e.Paused || e.Rev != after.Rev {
		t.Errorf("the sale is %+v", e)
	}
	if got := actionsOn(t, s, "newcomer"); !slices.Equal(got, []sale.Action{sale.ActionPause, sale.ActionTemplateOffShelf}) {
		t.Errorf("the log has %v", got)
	}
	if _, err := s.TakeOffShelf(t.Context(), ada, "absent"); !errors.Is(err, ErrNoTemplate) {
		t.Errorf("of none: %v", err)
	}
}

func TestTakeOffShelf_OfASaleThatIsPausedOrRetiredOrNotThere(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "paused", "a", 5)
	_, err := s.SetPaused(t.Context(), ada, "paused", true)
	must(t, err)
	loadedClaims(t, s, "retired", "b", 5)
	exec(t, s, `UPDATE sales SET retired = true, retired_at = now() WHERE sale_id = 'retired'`)
	create(t, s, rule("c", 5))
	revs := map[string]int64{"paused": entryOf(t, s, "paused").Rev + 1, "retired": entryOf(t, s, "retired").Rev}
	for _, id := range []string{"a", "b", "c"} {
		if off, err := s.TakeOffShelf(t.Context(), ada, id); err != nil || !off.OffShelf() {
			t.Errorf("%s: %+v, %v", id, off, err)
		}
		if got := actionsOn(t, s, id); got[len(got)-1] != sale.ActionTemplateOffShelf || slices.Contains(got, sale.ActionPause) {
			t.Errorf("%s: the log has %v", id, got)
		}
	}
	for id, rev := range revs {
		if e := entryOf(t, s, id); e.Rev != rev {
			t.Errorf("sale %s has not rev %d: %+v", id, rev, e)
		}
	}
}

func TestApply_OfATemplateOffTheShelf(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 5)
	create(t, s, rule("spring", 5))
	for _, id := range []string{"newcomer", "spring"} {
		_, err := s.TakeOffShelf(t.Context(), ada, id)
		must(t, err)
	}
	if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{claims("new", "spring", 5)}}); err == nil || !strings.Contains(err.Error(), "sale new: template: spring is off the shelf since ") {
		t.Errorf("a new sale: %v", err)
	}
	c := claims("gift", "newcomer", 5)
	c.Weight = 2
	apply(t, s, c)
	applyRule(t, s, rule("newcomer", 6))
	if e, got := entryOf(t, s, "gift"), templateOf(t, s, "newcomer"); !e.Paused || e.Weight != 2 || !got.OffShelf() || got.Total != 6 {
		t.Errorf("sale %+v, template %+v", e, got)
	}
}

// Whichever comes first, no sale of a template off the shelf is left running.
func TestTakeOffShelf_BesideAnApplyThatGivesItASale(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 8 {
		template, gift := fmt.Sprint("t", i), fmt.Sprint("gift-", i)
		create(t, s, rule(template, 5))
		var group sync.WaitGroup
		var refused error
		group.Go(func() { _, refused = s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{claims(gift, template, 5)}}) })
		group.Go(func() {
			if _, err := s.TakeOffShelf(t.Context(), ada, template); err != nil {
				t.Error(err)
			}
		})
		group.Wait()
		if refused != nil {
			if !strings.Contains(refused.Error(), "is off the shelf since") {
				t.Error(refused)
			}
		} else if e := entryOf(t, s, gift); !e.Paused {
			t.Errorf("sale %s goes on: %+v", gift, e)
		}
	}
}

func TestAdjustment_OfCouponsStaysWithinTheTemplate(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, err := s.Apply(t.Context(), Catalogue{[]coupon.Rule{rule("newcomer", 8)}, []SaleConfig{claims("phone", "newcomer", 5)}})
	must(t, err)
	entry, err := s.BeginLoad(t.Context(), "phone", 0)
	must(t, err)
	_, err = s.FinishLoad(t.Context(), "phone", entry.Epoch)
	must(t, err)
	if _, err := s.BeginAdjustment(t.Context(), ada, sale.Adjustment{ID: "a", SaleID: "phone", Delta: 4}); !errors.Is(err, ErrTemplateTotal) || !strings.Contains(err.Error(), "template newcomer has 8") {
		t.Errorf("beyond: %v", err)
	}
	wantTotal(t, s, 5)
	begin(t, s, sale.Adjustment{ID: "a", SaleID: "phone", Delta: 3})
	wantTotal(t, s, 8)
	if _, err := s.Apply(t.Context(), Catalogue{Templates: []coupon.Rule{rule("newcomer", 7)}}); !errors.Is(err, ErrLoaded) {
		t.Errorf("a total below the sale's: %v", err)
	}
	applyRule(t, s, rule("newcomer", 9))
	begin(t, s, sale.Adjustment{ID: "b", SaleID: "phone", Delta: 1})
	wantTotal(t, s, 9)
}

// Increases and a lower total of the template at once never leave the sale more units than
// the template has coupons.
func TestAdjustment_BesideAnApplyThatLowersTheTemplate(t *testing.T) {
	t.Parallel()
	s := withoutDeadlocks(t)
	for i := range 6 {
		template, gift := fmt.Sprint("t", i), fmt.Sprint("gift-", i)
		_, err := s.Apply(t.Context(), Catalogue{[]coupon.Rule{rule(template, 8)}, []SaleConfig{claims(gift, template, 5)}})
		must(t, err)
		entry, err := s.BeginLoad(t.Context(), gift, 0)
		must(t, err)
		_, err = s.FinishLoad(t.Context(), gift, entry.Epoch)
		must(t, err)
		var group sync.WaitGroup
		for n := range 3 {
			group.Go(func() {
				a := sale.Adjustment{ID: fmt.Sprint(gift, ".", n), SaleID: gift, Delta: 2}
				if _, err := s.BeginAdjustment(t.Context(), ada, a); err != nil && !errors.Is(err, ErrTemplateTotal) {
					t.Error(err)
				}
			})
		}
		group.Go(func() {
			if _, err := s.Apply(t.Context(), Catalogue{Templates: []coupon.Rule{rule(template, 6)}}); err != nil && !errors.Is(err, ErrLoaded) {
				t.Error(err)
			}
		})
		group.Wait()
		if total, _, err := stockOf(t, s, gift); err != nil || total > templateOf(t, s, template).Total {
			t.Errorf("sale %s has %d units, its template %d, %v", gift, total, templateOf(t, s, template).Total, err)
		}
	}
}

// couponRows are all coupons as the table has them.
func couponRows(t testing.TB, s *Store) []string {
	t.Helper()
	rows, err := read(t.Context(), s, pgx.RowTo[string], `SELECT to_jsonb(c)::text FROM coupons c ORDER BY id`)
	must(t, err)
	return rows
}

// held makes coupons of a template in each state that somebody may hold them in.
func held(t testing.TB, s *Store, saleID, template string) {
	t.Helper()
	exec(t, s, `
		INSERT INTO coupons (id, template_id, sale_id, user_id, slot, snapshot, ends_at, state, order_id, locked_until)
		SELECT gen_random_uuid(), t.template_id, $1, 'user-' || c.state, 1,
			jsonb_build_object('kind', t.kind, 'value', t.value, 'min_amount', t.min_amount) || t.terms, 'infinity', c.state, c.order_id, c.locked_until
		FROM coupon_templates t, (VALUES ('issued', NULL, NULL), ('locked', 'o-1', now() + interval '1 hour'), ('redeemed', 'o-2', NULL), ('expired', NULL, NULL), ('void', NULL, NULL))
			AS c (state, order_id, locked_until)
		WHERE t.template_id = $2`, saleID, template)
	exec(t, s, `UPDATE coupon_templates SET issued = 5 WHERE template_id = $1`, template)
}

func TestTemplates_WhatBecomesOfThemChangesNoCoupon(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 10)
	held(t, s, "gift", "newcomer")
	before := couponRows(t, s)
	if len(before) != 5 {
		t.Fatalf("there are %d coupons", len(before))
	}
	edited := rule("newcomer", 10)
	edited.Kind, edited.Value, edited.MinAmountCents, edited.CapMinor, edited.Bearers = coupon.KindPercent, 1, 0, 7, []coupon.Bearer{{Party: "m2", BPS: 10000}}
	edited.Group, edited.StackWith, edited.Scope, edited.EndsAt, edited.IfGone = "", nil, coupon.Scope{SKUs: []string{"X"}}, edited.EndsAt.AddDate(-5, 0, 0), coupon.GoneRefund
	for name, do := range map[string]func() error{
		"edited": func() error {
			_, err := s.Apply(t.Context(), Catalogue{Templates: []coupon.Rule{edited}})
			return err
		},
		"copied":        func() error { _, _, err := s.CopyTemplate(t.Context(), ada, "newcomer", "copy", nil); return err },
		"off the shelf": func() error { _, err := s.TakeOffShelf(t.Context(), ada, "newcomer"); return err },
	} {
		must(t, do())
		if diff := cmp.Diff(before, couponRows(t, s)); diff != "" {
			t.Errorf("%s: coupons changed (-want +got):\n%s", name, diff)
		}
		if got := templateOf(t, s, "newcomer"); got.Issued != 5 {
			t.Errorf("%s: %d are given out", name, got.Issued)
		}
	}
	if got := templateOf(t, s, "newcomer"); got.Kind != coupon.KindPercent || !got.OffShelf() || templateOf(t, s, "copy").Issued != 0 {
		t.Errorf("the template is %+v", got)
	}
}
