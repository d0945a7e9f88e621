package salesfile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/sale"
	"sluice/warmup/internal/salesfile"
)

const coupons = `sales:
  - {id: newcomer-coupon, kind: coupon, template: newcomer-20, total: 5000, opens_at: 2026-12-01T10:00:00Z, closes_at: 2026-12-01T11:00:00Z}
  - {id: elsewhere, kind: coupon, template: in-postgres, price: 0, currency: EUR, total: 1, opens_at: 2026-12-01T10:00:00Z, closes_at: 2026-12-01T11:00:00Z}
coupon_templates:
  - id: newcomer-20
    kind: amount
    value: 2000
    min_amount: 10000
    cap: 0
    total: 5000
    currency: CNY
    scope: {merchants: [m1, m2], skus: [], categories: [phones]}
    layer: merchant
    group: newcomer
    stack_with: [shipping]
    starts_at: 2026-12-01T00:00:00+08:00
    ends_at: 2027-01-01T00:00:00Z
    bearers: [{party: platform, bps: 7000}, {party: merchant, bps: 3000}]
    return_on_full_refund: true
    if_gone_after_payment: top_up
  - {id: bare, kind: percent, value: 80, total: 0}
`

// templateText is a file of one template, with a line of its own behind the needed ones.
func templateText(line string) string {
	return "coupon_templates:\n  - id: newcomer\n    kind: percent\n    value: 80\n    total: 10\n    " + line + "\n"
}

func TestParse_ReadsTemplatesAndTheirDefaults(t *testing.T) {
	t.Parallel()
	file, err := salesfile.Parse([]byte(coupons), users)
	if err != nil {
		t.Fatal(err)
	}
	want := []coupon.Rule{
		{
			Template: coupon.Template{ID: "newcomer-20", Kind: coupon.KindAmount, Value: 2000, MinAmountCents: 10000, Total: 5000},
			Terms: coupon.Terms{
				Scope: coupon.Scope{Merchants: []string{"m1", "m2"}, SKUs: []string{}, Categories: []string{"phones"}},
				Layer: coupon.LayerMerchant, Group: "newcomer", StackWith: []string{"shipping"},
				Bearers:  []coupon.Bearer{{Party: "platform", BPS: 7000}, {Party: "merchant", BPS: 3000}},
				Currency: "CNY", StartsAt: time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC), EndsAt: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
				ReturnOnFullRefund: true, IfGone: coupon.GoneTopUp,
			},
		},
		{
			Template: coupon.Template{ID: "bare", Kind: coupon.KindPercent, Value: 80},
			Terms: coupon.Terms{
				Scope: coupon.Scope{Merchants: []string{}, SKUs: []string{}, Categories: []string{}},
				Layer: coupon.LayerPlatform, StackWith: []string{}, Bearers: []coupon.Bearer{{Party: "platform", BPS: 10000}},
				Currency: "CNY", IfGone: coupon.GoneHonour,
			},
		},
	}
	if diff := cmp.Diff(want, file.Templates); diff != "" {
		t.Errorf("templates differ (-want +got):\n%s", diff)
	}
}

func TestParse_ASaleOfCouponsHasNoPriceAndItsTemplatesSKU(t *testing.T) {
	t.Parallel()
	file, err := salesfile.Parse([]byte(coupons), users)
	if err != nil {
		t.Fatal(err)
	}
	want := sale.Sale{
		ID: "newcomer-coupon", Kind: sale.KindCoupon, Title: "newcomer-coupon", SKU: "newcomer-20", Template: "newcomer-20", Total: 5000, PerUserLimit: 1,
		OpensAt: time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC), ClosesAt: time.Date(2026, 12, 1, 11, 0, 0, 0, time.UTC),
		Mode: sale.ModeQueued, RebuyAfterRelease: true, Weight: 1,
	}
	if diff := cmp.Diff(want, file.Sales[0].Sale); diff != "" {
		t.Errorf("the sale differs (-want +got):\n%s", diff)
	}
	if s := file.Sales[1]; s.Template != "in-postgres" || s.Currency != "EUR" {
		t.Errorf("the sale whose template is not in the file is %+v", s)
	}
}

func TestParse_AFileMayHaveTemplatesAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{templateText("cap: 100"), templateText("cap: 100") + "sales: []\n"} {
		file, err := salesfile.Parse([]byte(text), users)
		if err != nil || len(file.Sales) != 0 || len(file.Templates) != 1 || file.Templates[0].CapMinor != 100 {
			t.Errorf("%q: %+v, %v", text, file, err)
		}
	}
}

func TestParse_AGroupOrAPartyMayBeThereTwice(t *testing.T) {
	t.Parallel()
	file, err := salesfile.Parse([]byte(templateText("stack_with: [a, a]\n    bearers: [{party: a, bps: 5000}, {party: a, bps: 5000}]")), users)
	if err != nil || len(file.Templates[0].StackWith) != 2 || len(file.Templates[0].Bearers) != 2 {
		t.Errorf("%+v, %v", file, err)
	}
}

func TestParse_RefusesBadTemplatesAndNamesTheField(t *testing.T) {
	t.Parallel()
	const known = "known are id, kind, value, min_amount, cap, total, currency, scope, layer, group, stack_with, starts_at, ends_at, bearers, " +
		"return_on_full_refund, if_gone_after_payment"
	for text, want := range map[string]string{
		"totl: 1":                  "totl: unknown key; " + known,
		"Cap: 1":                   "Cap: unknown key; " + known,
		"price: 1":                 "price: unknown key; " + known,
		"min_amount: -1":           "min_amount: must be 0..1000000000000, is -1",
		"cap: -1":                  "cap: must be 0..1000000000000, is -1",
		`cap: "1"`:                 `cap: must be a whole number in decimal digits, is "1"`,
		"currency: cny":            `currency: must be three capital letters such as CNY, is "cny"`,
		"layer: shop":              `layer: must be merchant or platform, is "shop"`,
		"group: 7":                 "group: must be a text, is 7; put it in quotes",
		"stack_with: a":            `stack_with: must be a list, is "a"`,
		"stack_with: ['']":         "stack_with[0]: must have 1 to 128 characters, has 0",
		"scope: []":                "scope: must be a mapping, is a list",
		"scope: {sku: [a]}":        "scope.sku: unknown key; known are merchants, skus, categories",
		"scope: {skus: [a, b, a]}": `scope.skus[2]: must be there once, "a" is there before`,
		"scope: {merchants: [7]}":  "scope.merchants[0]: must be a text, is 7; put it in quotes",
		"scope: {skus: [" + strings.Repeat("a, ", 101) + "]}": "scope.skus: must be at most 100, are 101",
		"bearers: []":                                          "bearers: the sum of bps must be 10000, is 0",
		"bearers: [{party: a}]":                                "bearers[0].bps: is missing",
		"bearers: [{bps: 10000}]":                              "bearers[0].party: is missing",
		"bearers: [{party: a, bps: 0}]":                        "bearers[0].bps: must be 1..10000, is 0",
		"bearers: [{party: a, bps: 10001}]":                    "bearers[0].bps: must be 1..10000, is 10001",
		"bearers: [{party: a, share: 1}]":                      "bearers[0].share: unknown key; known are party, bps",
		"bearers: [{party: a, bps: 9999}]":                     "bearers: the sum of bps must be 10000, is 9999",
		"bearers: [{party: a, bps: 9999}, {party: b, bps: 2}]": "bearers: the sum of bps must be 10000, is 10001",
		"ends_at: tomorrow":                                    `ends_at: must be a time with a zone such as 2026-12-01T10:00:00+08:00, is "tomorrow"`,
		"return_on_full_refund: yes":                           `return_on_full_refund: must be true or false, is "yes"`,
		"if_gone_after_payment: keep":                          `if_gone_after_payment: must be honour, top_up or refund, is "keep"`,
		"group: \"a\\tb\"":                                     "group: must not have control characters, has U+0009",
		"cap: 1\n    issued: 5":                                "issued: unknown key; " + known,
		"ends_at: 2026-12-01T10:00:00.0001Z":                   `ends_at: must be exact to the millisecond, is "2026-12-01T10:00:00.0001Z"`,
		"starts_at: 2026-12-01T10:00:00Z\n    ends_at: 2026-12-01T10:00:00Z": "ends_at: must be after starts_at",
	} {
		file, err := salesfile.Parse([]byte(templateText(text)), users)
		if err == nil || file != nil || !strings.HasPrefix(err.Error(), "coupon_templates[0]."+want+" (line ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s\n got %v\nwant coupon_templates[0].%s", text, err, want)
		}
	}
}

func TestParse_RefusesValuesThatDoNotFitTheKind(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"kind: amount, value: 0":                "value: must be at least 1 for kind amount, is 0 (line 1)",
		"kind: amount":                          "value: must be at least 1 for kind amount, is 0 (line 1)",
		"kind: amount, value: 1, cap: 1":        "cap: must be 0 for kind amount, is 1 (line 1)",
		"kind: percent, value: 101":             "value: must be 1..100, the percentage paid, for kind percent, is 101 (line 1)",
		"kind: percent":                         "value: must be 1..100, the percentage paid, for kind percent, is 0 (line 1)",
		"kind: free_shipping, value: 1":         "value: must be 0 for kind free_shipping, is 1 (line 1)",
		"kind: percentage, value: 1":            `kind: must be amount, percent or free_shipping, is "percentage" (line 1)`,
		"value: 1":                              "kind: is missing (line 1)",
		"kind: percent, value: 1, total: -1":    "total: must be 0..100000000, is -1 (line 1)",
		"kind: percent, value: 1, id: Newcomer": `id: template id "Newcomer": only a-z, 0-9 and - are allowed (line 1)`,
	} {
		for _, needed := range []string{"id: a", "total: 1"} {
			if !strings.Contains(text, needed[:strings.Index(needed, " ")]) {
				text += ", " + needed
			}
		}
		_, err := salesfile.Parse([]byte("coupon_templates: [{"+text+"}]\n"), users)
		if err == nil || err.Error() != "coupon_templates[0]."+want {
			t.Errorf("%s\n got %v\nwant coupon_templates[0].%s", text, err, want)
		}
	}
}

func TestParse_RefusesTemplatesAndSalesThatDoNotMatch(t *testing.T) {
	t.Parallel()
	for change, want := range map[[2]string]string{
		{"id: bare", "id: newcomer-20"}:                                                             `coupon_templates[1]: id "newcomer-20" is that of coupon_templates[0] too (line 21)`,
		{"total: 5000, opens", "total: 5001, opens"}:                                                "sales[0].total: must be at most the total of template newcomer-20, 5000, is 5001 (line 2)",
		{"template: in-postgres", "template: newcomer-20"}:                                          "sales[1].template: newcomer-20 is that of sales[0] too, and a template is given out by one sale at most: copy it under another id (line 3)",
		{"template: newcomer-20, total", "template: newcomer-20, currency: EUR, total"}:             "sales[0].currency: must be left out or that of template newcomer-20, CNY, is EUR (line 2)",
		{"template: newcomer-20, total", "total"}:                                                   "sales[0].template: is missing: kind coupon gives out the coupons of a template (line 2)",
		{"template: newcomer-20, total", "template: A, total"}:                                      `sales[0].template: template id "A": only a-z, 0-9 and - are allowed (line 2)`,
		{"template: newcomer-20, total", "template: newcomer-20, price: 1, total"}:                  "sales[0].price: must be left out or 0 for kind coupon: a claim costs nothing (line 2)",
		{"template: newcomer-20, total", "template: newcomer-20, hold: 1m, total"}:                  "sales[0].hold: is not for kind coupon: a claim is never unpaid (line 2)",
		{"template: newcomer-20, total", "template: newcomer-20, sku: X, total"}:                    "sales[0].sku: is not for kind coupon: the order system knows it by its template (line 2)",
		{"template: newcomer-20, total", "template: newcomer-20, rebuy_after_release: true, total"}: "sales[0].rebuy_after_release: is not for kind coupon: a claim is never released (line 2)",
		{"kind: coupon, template: newcomer-20", "template: newcomer-20, price: 1"}:                  "sales[0].template: is for kind coupon alone (line 2)",
		{"kind: coupon, template: newcomer-20", "price: 0"}:                                         "sales[0].price: must be 1..1000000000000, is 0 (line 2)",
	} {
		text := strings.Replace(coupons, change[0], change[1], 1)
		file, err := salesfile.Parse([]byte(text), users)
		if err == nil || file != nil || err.Error() != want {
			t.Errorf("%s\n got %v\nwant %s", change[1], err, want)
		}
	}
}
