package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// rule is a template of total coupons.
func rule(id string, total int64) coupon.Rule {
	return coupon.Rule{
		Template: coupon.Template{ID: id, Kind: coupon.KindAmount, Value: 2000, MinAmountCents: 10000, Total: total},
		Terms: coupon.Terms{
			Scope: coupon.Scope{Merchants: []string{"m1"}}, Layer: coupon.LayerPlatform, Group: "newcomer", StackWith: []string{"shipping"},
			Bearers:  []coupon.Bearer{{Party: "platform", BPS: 7000}, {Party: "merchant", BPS: 3000}},
			Currency: "CNY", EndsAt: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), ReturnOnFullRefund: true, IfGone: coupon.GoneHonour,
		},
	}
}

// claims is a sale of total coupons of a template.
func claims(id, template string, total int64) SaleConfig {
	c := config(id, total)
	c.Kind, c.Template, c.SKU, c.Currency, c.PriceMinor, c.Hold = sale.KindCoupon, template, "", "", 0, 0
	return c
}

// loadedClaims makes a sale of coupons with a template of its own, at epoch 1.
func loadedClaims(t testing.TB, s *Store, id, template string, total int64) {
	t.Helper()
	_, err := s.Apply(t.Context(), Catalogue{[]coupon.Rule{rule(template, total)}, []SaleConfig{claims(id, template, total)}})
	must(t, err)
	entry, err := s.BeginLoad(t.Context(), id, 0)
	must(t, err)
	_, err = s.FinishLoad(t.Context(), id, entry.Epoch)
	must(t, err)
}

func templateOf(t testing.TB, s *Store, id string) coupon.Standing {
	t.Helper()
	all, err := s.Templates(t.Context())
	must(t, err)
	for _, one := range all {
		if one.ID == id {
			return one
		}
	}
	t.Fatalf("there is no template %s among %+v", id, all)
	return coupon.Standing{}
}

func applyRule(t testing.TB, s *Store, r coupon.Rule) AppliedTemplate {
	t.Helper()
	applied, err := s.Apply(t.Context(), Catalogue{Templates: []coupon.Rule{r}})
	must(t, err)
	return applied.Templates[0]
}

func TestApply_CreatesTemplatesBeforeTheirSales(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	c := Catalogue{[]coupon.Rule{rule("spring", 7), rule("newcomer", 5)}, []SaleConfig{config("phone", 1), claims("gift", "newcomer", 5)}}
	applied, err := s.Apply(t.Context(), c)
	must(t, err)
	want := AppliedCatalogue{
		Templates: []AppliedTemplate{{ID: "spring", Change: Created}, {ID: "newcomer", Change: Created}},
		Sales:     []Applied{{SaleID: "phone", Change: Created}, {SaleID: "gift", Change: Created}},
	}
	if diff := cmp.Diff(want, applied, cmpopts.IgnoreFields(Applied{}, "Entry")); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	if e := entryOf(t, s, "gift"); e.Template != "newcomer" || e.SKU != "newcomer" || e.Currency != "CNY" || e.PriceMinor != 0 || e.Total != 5 || e.Rev != 1 {
		t.Errorf("the sale is %+v", e)
	}
	got := templateOf(t, s, "newcomer")
	if diff := cmp.Diff(canonicalRule(rule("newcomer", 5)), got.Rule); diff != "" || got.SaleID != "gift" || got.OffShelf() || got.CreatedAt.IsZero() {
		t.Errorf("of sale %q, rule (-want +got):\n%s", got.SaleID, diff)
	}
	again, err := s.Apply(t.Context(), c)
	must(t, err)
	if again.Templates[0].Change != Unchanged || again.Templates[1].Change != Unchanged || again.Sales[1].Change != Unchanged {
		t.Errorf("again: %+v", again)
	}
}

func TestApply_ASaleMayNameATemplateThatIsThere(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	euro := rule("newcomer", 5)
	euro.Currency = "EUR"
	applyRule(t, s, euro)
	if e := apply(t, s, claims("gift", "newcomer", 5))[0].Entry; e.Template != "newcomer" || e.Currency != "EUR" {
		t.Errorf("the sale is %+v", e)
	}
}

// everyRuleField lists one change for each field of a template in the sales file.
func everyRuleField() map[string]func(*coupon.Rule) {
	return map[string]func(*coupon.Rule){
		"kind":                  func(r *coupon.Rule) { r.Kind = coupon.KindPercent },
		"value":                 func(r *coupon.Rule) { r.Value++ },
		"min_amount":            func(r *coupon.Rule) { r.MinAmountCents++ },
		"cap":                   func(r *coupon.Rule) { r.CapMinor++ },
		"total":                 func(r *coupon.Rule) { r.Total++ },
		"currency":              func(r *coupon.Rule) { r.Currency = "EUR" },
		"scope.merchants":       func(r *coupon.Rule) { r.Scope.Merchants = nil },
		"scope.skus":            func(r *coupon.Rule) { r.Scope.SKUs = []string{"PHONE-1"} },
		"scope.categories":      func(r *coupon.Rule) { r.Scope.Categories = []string{"phones"} },
		"layer":                 func(r *coupon.Rule) { r.Layer = coupon.LayerMerchant },
		"group":                 func(r *coupon.Rule) { r.Group = "" },
		"stack_with":            func(r *coupon.Rule) { r.StackWith = append(r.StackWith, "other") },
		"starts_at":             func(r *coupon.Rule) { r.StartsAt = r.EndsAt.Add(-time.Hour) },
		"ends_at":               func(r *coupon.Rule) { r.EndsAt = time.Time{} },
		"bearers":               func(r *coupon.Rule) { slices.Reverse(r.Bearers) },
		"return_on_full_refund": func(r *coupon.Rule) { r.ReturnOnFullRefund = false },
		"if_gone_after_payment": func(r *coupon.Rule) { r.IfGone = coupon.GoneRefund },
	}
}

func TestApply_NamesTheFieldOfATemplatesUpdate(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for field, change := range everyRuleField() {
		id := strings.NewReplacer(".", "-", "_", "-").Replace(field)
		before, after := rule(id, 10), rule(id, 10)
		before.Kind, before.Value, after.Kind, after.Value = coupon.KindPercent, 80, coupon.KindPercent, 80
		if field == "kind" { // an amount has no cap, and a value that is a percentage too
			before.Kind = coupon.KindAmount
		}
		change(&after)
		applyRule(t, s, before)
		applied := applyRule(t, s, after)
		if applied.Change != Updated || !slices.Equal(fieldNames(applied.Fields), []string{field}) {
			t.Errorf("%s: applied = %+v", field, applied)
		}
		if got := templateOf(t, s, id); cmp.Diff(canonicalRule(after), got.Rule) != "" || !got.ChangedAt.After(got.CreatedAt) {
			t.Errorf("%s: it is %+v", field, got)
		}
		if applied := applyRule(t, s, after); applied.Change != Unchanged {
			t.Errorf("%s: identical, but applied = %+v", field, applied)
		}
	}
}

func TestApply_ATemplatesChangeIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 5)
	r := rule("newcomer", 6)
	r.EndsAt = time.Time{}
	applyRule(t, s, r)
	applyRule(t, s, r) // no change, no record
	log, err := s.AuditLog(t.Context(), "gift", sale.Page{Limit: 10})
	must(t, err)
	if len(log) != 1 || log[0].Action != sale.ActionTemplateApply || log[0].By.Who != "warmup" || log[0].Subject != "newcomer" ||
		string(log[0].Before) != `{"total": "5", "ends_at": "2027-01-01T00:00:00Z"}` || string(log[0].After) != `{"total": "6", "ends_at": "no bound"}` {
		t.Errorf("log %+v", log)
	}
}

func TestApply_KindAndTemplateOfASaleChangeTogether(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	applyRule(t, s, rule("newcomer", 10))
	apply(t, s, config("cold", 10))
	want := []string{"kind", "sku", "template", "price", "hold"}
	if applied := apply(t, s, claims("cold", "newcomer", 10))[0]; applied.Change != Updated || !slices.Equal(fieldNames(applied.Fields), want) {
		t.Errorf("applied = %+v", applied)
	}
	apply(t, s, config("cold", 10)) // back again, and the template is free
	loaded(t, s, "phone", 10)
	_, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{claims("phone", "newcomer", 10)}})
	var fixed *FixedError
	if !errors.As(err, &fixed) || len(fixed.Sales) != 1 || len(fixed.Sales[0].Fields) != 4 {
		t.Errorf("of a loaded sale: %v", err)
	}
	if e := entryOf(t, s, "phone"); e.Kind != sale.KindGoods || e.Template != "" {
		t.Errorf("the sale is %+v", e)
	}
}

func TestApply_RefusesASaleThatDoesNotFitItsTemplate(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "taken", 5)
	applyRule(t, s, rule("free", 5))
	applyRule(t, s, rule("other", 5))
	apply(t, s, claims("cold", "other", 5))
	dollars := claims("new", "free", 5)
	dollars.Currency = "USD"
	priced := claims("new", "free", 5)
	priced.PriceMinor = 1
	for name, c := range map[string]struct {
		sale SaleConfig
		want string
	}{
		"absent":        {claims("new", "absent", 5), "sale new: template: no such template: absent: write it under coupon_templates"},
		"taken":         {claims("new", "taken", 5), "sale new: template: taken is given out by sale gift, and by one sale at most, for good: copy it (POST /admin/v1/templates/taken/copy"},
		"taken by cold": {claims("new", "other", 5), "sale new: template: other is given out by sale cold"},
		"too many":      {claims("new", "free", 6), "sale new: total: 6 units, and template free has 5 coupons: lower it, or raise the total of the template"},
		"currency":      {dollars, "sale new: currency: is USD, and that of template free is CNY"},
		"price":         {priced, "sale new: price: a coupon has none"},
		"cold grows":    {claims("cold", "other", 6), "sale cold: total: 6 units, and template other has 5 coupons"},
		"cold turns":    {claims("cold", "taken", 5), "sale cold: template: taken is given out by sale gift"},
	} {
		_, err := s.Apply(t.Context(), Catalogue{[]coupon.Rule{rule("fresh", 1)}, []SaleConfig{c.sale}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want %s", name, err, c.want)
		}
	}
	if all, err := s.Templates(t.Context()); err != nil || len(all) != 3 {
		t.Errorf("a template was created beside what was refused: %+v, %v", all, err)
	}
}

func TestApply_TheTemplateOfARetiredSaleStaysItsOwn(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 5)
	exec(t, s, `UPDATE sales SET retired = true, retired_at = now(), cleared_at = now(), forgotten_at = now()`)
	if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{claims("new", "newcomer", 5)}}); err == nil || !strings.Contains(err.Error(), "copy it") {
		t.Errorf("error = %v", err)
	}
}

func TestApply_RefusesTotalsOfTemplatesBelowWhatIsGivenOutOrSold(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 10)
	apply(t, s, config("phone", 10))
	exec(t, s, `UPDATE coupon_templates SET issued = 4`)
	exec(t, s, `UPDATE sale_stock SET total = 6, held = 4 WHERE sale_id = 'gift'`) // somebody took units away
	applyRule(t, s, rule("newcomer", 6))
	for total, want := range map[int64]string{
		3: "template newcomer: total: 6 → 3: 4 of its coupons are given out, and it cannot have fewer",
		5: "template newcomer: total: 6 → 5: sale gift has 6 units of it: take some away by POST /admin/v1/sales/gift/stock first",
	} {
		for name, call := range map[string]func() error{
			"apply": func() error {
				_, err := s.Apply(t.Context(), Catalogue{[]coupon.Rule{rule("newcomer", total)}, []SaleConfig{config("phone", 11)}})
				return err
			},
			"plan": func() error {
				_, err := s.Plan(t.Context(), Catalogue{Templates: []coupon.Rule{rule("newcomer", total)}})
				return err
			},
		} {
			var fixed *FixedError
			if err := call(); !errors.As(err, &fixed) || !strings.Contains(err.Error(), "nothing was changed: "+want) {
				t.Errorf("%s to %d: %v", name, total, err)
			}
		}
	}
	if e, got := entryOf(t, s, "phone"), templateOf(t, s, "newcomer"); e.Total != 10 || got.Total != 6 || got.Issued != 4 {
		t.Errorf("phone has %d units, the template %+v", e.Total, got)
	}
}

func TestApply_RefusesAnotherCurrencyOfATemplateThatASaleGivesOut(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loadedClaims(t, s, "gift", "newcomer", 5)
	euro := rule("newcomer", 5)
	euro.Currency = "EUR"
	for name, c := range map[string]Catalogue{
		"alone":         {Templates: []coupon.Rule{euro}},
		"with its sale": {[]coupon.Rule{euro}, []SaleConfig{claims("gift", "newcomer", 5)}},
	} {
		if _, err := s.Apply(t.Context(), c); !errors.Is(err, ErrLoaded) || !strings.Contains(err.Error(), "currency: CNY → EUR") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlan_OfTemplatesChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	applyRule(t, s, rule("newcomer", 5))
	planned, err := s.Plan(t.Context(), Catalogue{[]coupon.Rule{rule("newcomer", 6), rule("spring", 1)}, []SaleConfig{claims("gift", "newcomer", 6)}})
	must(t, err)
	if planned.Templates[0].Change != Updated || planned.Templates[1].Change != Created || planned.Sales[0].Change != Created {
		t.Errorf("planned %+v", planned)
	}
	if all, err := s.Templates(t.Context()); err != nil || len(all) != 1 || all[0].Total != 5 {
		t.Errorf("there are %+v, %v", all, err)
	}
}

func TestApply_OneTemplateGoesToOneOfManySales(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const callers = 6
	refused := make(chan error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			_, err := s.Apply(t.Context(), Catalogue{[]coupon.Rule{rule("newcomer", 5)}, []SaleConfig{claims(fmt.Sprint("gift-", i), "newcomer", 5)}})
			if err != nil {
				refused <- err
			}
		})
	}
	group.Wait()
	close(refused)
	n := 0
	for err := range refused {
		if n++; !strings.Contains(err.Error(), "is given out by sale gift-") {
			t.Errorf("error = %v", err)
		}
	}
	if entries, err := s.Entries(t.Context()); err != nil || len(entries) != 1 || n != callers-1 {
		t.Errorf("%d were refused, %d sales are there, %v", n, len(entries), err)
	}
}
