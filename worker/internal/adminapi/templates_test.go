package adminapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

const wholeTemplate = `{"id":"newcomer-20","kind":"amount","value":2000,"min_amount":10000,"cap":0,"total":5000,"currency":"EUR",
	"scope":{"merchants":["m1"],"skus":[],"categories":["phones"]},"layer":"merchant","group":"newcomer","stack_with":["shipping"],
	"starts_at":"2026-12-01T00:00:00+08:00","ends_at":"2027-01-01T00:00:00Z","bearers":[{"party":"platform","bps":7000},{"party":"m1","bps":3000}],
	"return_on_full_refund":true,"if_gone_after_payment":"top_up"}`

func TestReadRule_TakesATemplateAsInTheSalesFile(t *testing.T) {
	t.Parallel()
	got, bad := readRule([]byte(wholeTemplate))
	if bad != nil {
		t.Fatal(bad.Detail)
	}
	want := coupon.Rule{
		Template: coupon.Template{ID: "newcomer-20", Kind: coupon.KindAmount, Value: 2000, MinAmountCents: 10000, Total: 5000},
		Terms: coupon.Terms{
			Scope: coupon.Scope{Merchants: []string{"m1"}, SKUs: []string{}, Categories: []string{"phones"}},
			Layer: coupon.LayerMerchant, Group: "newcomer", StackWith: []string{"shipping"},
			Bearers:  []coupon.Bearer{{Party: "platform", BPS: 7000}, {Party: "m1", BPS: 3000}},
			Currency: "EUR", StartsAt: time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC), EndsAt: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
			ReturnOnFullRefund: true, IfGone: coupon.GoneTopUp,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the rule differs (-want +got):\n%s", diff)
	}
	bare, bad := readRule([]byte(`{"id":"bare","kind":"percent","value":80,"total":0}`))
	if bad != nil || cmp.Diff(coupon.DefaultTerms(), bare.Terms) != "" || bare.MinAmountCents != 0 {
		t.Errorf("what is silent is %+v, %+v", bare, bad)
	}
}

func TestReadRule_NamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		"":   "body",
		"[]": "body",
		`{"kind":"percent","value":80,"total":1}`:                                                                       "id",
		`{"id":"a","value":80,"total":1}`:                                                                               "kind",
		`{"id":"a","kind":"percent","value":80}`:                                                                        "total",
		`{"id":"A","kind":"percent","value":80,"total":1}`:                                                              "id",
		`{"id":"a","kind":"gift","value":80,"total":1}`:                                                                 "kind",
		`{"id":"a","kind":"percent","value":101,"total":1}`:                                                             "value",
		`{"id":"a","kind":"percent","total":1}`:                                                                         "value",
		`{"id":"a","kind":"percent","value":80,"total":100000001}`:                                                      "total",
		`{"id":"a","kind":"percent","value":80,"total":1,"issued":0}`:                                                   "issued",
		`{"id":"a","kind":"percent","value":80,"total":1,"Cap":0}`:                                                      "Cap",
		`{"id":"a","kind":"percent","value":80,"total":1,"total":2}`:                                                    "total",
		`{"id":"a","kind":"percent","value":80,"total":1} {}`:                                                           "body",
		`{"id":"a","kind":"percent","value":80,"total":1,"group":null}`:                                                 "group",
		`{"id":"a","kind":"percent","value":80,"total":1,"scope":{"sku":[]}}`:                                           "scope.sku",
		`{"id":"a","kind":"percent","value":80,"total":1,"scope":{"skus":["a","a"]}}`:                                   "scope.skus[1]",
		`{"id":"a","kind":"percent","value":80,"total":1,"bearers":[]}`:                                                 "bearers",
		`{"id":"a","kind":"percent","value":80,"total":1,"bearers":[{"party":"a"}]}`:                                    "bearers[0].bps",
		`{"id":"a","kind":"percent","value":80,"total":1,"bearers":[{"bps":10000}]}`:                                    "bearers[0].party",
		`{"id":"a","kind":"percent","value":80,"total":1,"bearers":[{"party":"a","bps":5000},{"party":"b","bps":5.5}]}`: "bearers[1].bps",
		`{"id":"a","kind":"percent","value":80,"total":1,"ends_at":"tomorrow"}`:                                         "ends_at",
		`{"id":"a","kind":"percent","value":80,"total":1,"ends_at":"1999-01-01T00:00:00Z"}`:                             "ends_at",
	} {
		if _, bad := readRule([]byte(body)); bad == nil || bad.Field != field || bad.Detail == "" || bad.Status != 400 {
			t.Errorf("%s: %+v, want %s", body, bad, field)
		}
	}
}

func TestReadCopy_TakesAnIDAndPerhapsATotal(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{"id":"b"}`: "", `{"id":"b","total":0}`: "", `{"id":"b","total":100000000}`: "",
		`{}`: "id", "": "body", `{"id":"B"}`: "id", `{"id":"b","total":-1}`: "total", `{"id":"b","total":100000001}`: "total", `{"id":"b","total":null}`: "total",
		`{"id":"b","value":1}`: "value",
	} {
		asked, bad := readCopy([]byte(body))
		if (bad == nil) != (field == "") || bad != nil && bad.Field != field || bad == nil && asked.ID != "b" {
			t.Errorf("%s: %+v, %+v, want %q", body, asked, bad, field)
		}
	}
}

func FuzzReadRule(f *testing.F) {
	for _, seed := range []string{wholeTemplate, `{"id":"a","kind":"percent","value":80,"total":1,"bearers":[{"party":"a"}]}`, `{"scope":{}}`, "{", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, bad := readRule(body)
		if bad != nil {
			if bad.Status != 400 || bad.Field == "" || bad.Detail == "" {
				t.Errorf("%q is refused by %+v", body, bad)
			}
			return
		}
		if r.Validate() != nil || sale.ValidateTemplateID(r.ID) != nil {
			t.Errorf("%q is taken as %+v", body, r)
		}
		shown, err := json.Marshal(templateBodyOf(coupon.Standing{Rule: r}))
		if err != nil || strings.Contains(string(shown), ":null,\"bearers\"") || strings.Contains(string(shown), `"skus":null`) {
			t.Errorf("%q is shown as %s, %v", body, shown, err)
		}
	})
}
