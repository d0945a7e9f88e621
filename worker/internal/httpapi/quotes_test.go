package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// TestQuotes_AreThePublicVectors holds the JSON of both directions.
func TestQuotes_AreThePublicVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../shared/pricing/testdata/pricing.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name string          `json:"name"`
		Cart json.RawMessage `json:"cart"`
		Want map[string]any  `json:"want"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) == 0 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	url := serveShop(t, &shop{err: errors.New("read")})
	for _, v := range vectors {
		a := doWith(t, "POST", url+"/v1/quotes", string(v.Cart), "Bearer "+tokenOf(t, "ann", now))
		for name, want := range v.Want {
			if diff := cmp.Diff(want, a.body[name]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", v.Name, name, diff)
			}
		}
	}
}

const smallQuote = `{"currency":"CNY","lines":[{"id":"l1","quantity":2,"unit_price":9900}]`

func TestQuotes_WithoutCouponsAreAboutTheUsersOwn(t *testing.T) {
	t.Parallel()
	own := annsCoupon()
	own.State, own.OrderID, own.LockedUntil = coupon.StateIssued, "", time.Time{}
	s := &shop{held: []coupon.Instance{own}}
	url := serveShop(t, s)
	for name, c := range map[string]struct {
		body, authorization, of string
		payable                 float64
	}{
		"the buyer's":            {smallQuote + "}", "Bearer " + tokenOf(t, "ann", now), "ann", 19800}, // the store's clock says that it has ended
		"at a moment":            {smallQuote + `,"at":"2026-12-01T10:59:59Z"}`, "Bearer " + tokenOf(t, "ann", now), "ann", 17800},
		"a merchant's":           {smallQuote + `,"at":"2026-12-01T10:59:59Z","user_id":"bob"}`, "Bearer sk_acme_quotes", "bob", 17800},
		"what if":                {smallQuote + `,"coupons":[]}`, "Bearer " + tokenOf(t, "ann", now), "", 19800},
		"a merchant's what if":   {smallQuote + `,"coupons":[]}`, "Bearer sk_acme_quotes", "", 19800},
		"what if of a user":      {smallQuote + `,"coupons":[{"id":"k","kind":"percent","value":50}],"user_id":"bob"}`, "Bearer sk_acme_quotes", "", 9900},
		"what if it had started": {smallQuote + `,"coupons":[{"id":"k","kind":"amount","value":100,"starts_at":"2026-12-01T10:00:00Z"}]}`, "Bearer sk_acme_quotes", "", 19700},
	} {
		s.of, s.at = "", time.Time{}
		a := doWith(t, "POST", url+"/v1/quotes", c.body, c.authorization)
		if a.status != 200 || a.body["payable"] != c.payable || s.of != c.of || s.at.IsZero() == (c.of != "" && strings.Contains(c.body, `"at"`)) {
			t.Errorf("%s: %d, payable %v of %q: %v", name, a.status, a.body["payable"], s.of, a.body)
		}
	}
}

func TestQuotes_BrokenBodiesNameTheField(t *testing.T) {
	t.Parallel()
	s := &shop{}
	url := serveShop(t, s)
	with := func(coupons string) string {
		return smallQuote + `,"coupons":[{"id":"k","kind":"amount","value":1` + coupons + `}]}`
	}
	lines := func(n int) string {
		return `{"currency":"CNY","coupons":[],"lines":[` + strings.TrimSuffix(strings.Repeat(`{"id":"x","quantity":1},`, n), ",") + `]}`
	}
	for body, field := range map[string]string{
		`{"lines":[]}`: "currency", `{"currency":"yuan","coupons":[]}`: "currency", `{"currency":null}`: "currency", "[]": "body", "": "body",
		smallQuote + `,"user_id":"ann"}`: "user_id", smallQuote + `,"user_id":"ann","coupons":[]}`: "user_id",
		smallQuote + `,"coupons":null}`: "coupons", smallQuote + `,"Coupons":[]}`: "Coupons", smallQuote + `,"order_id":"x"}`: "order_id",
		smallQuote + `,"at":"2026-12-01T10:00:00+00:00"}`: "at", smallQuote + `,"at":"2026-12-01T18:00:00+08:00","coupons":[]}`: "at", smallQuote + `,"at":1}`: "at",
		smallQuote + `,"at":"0001-01-01T00:00:00Z"}`: "at", with(`,"starts_at":"0001-01-01T00:00:00Z"`): "coupons[0].starts_at", with(`,"ends_at":"0001-01-01T00:00:00Z"`): "coupons[0].ends_at",
		with(`,"starts_at":"2026-12-01T18:00:00+08:00"`): "coupons[0].starts_at", with(`,"ends_at":"2026-12-01T18:00:00-00:00"`): "coupons[0].ends_at",
		with(`,"ends_at":"soon"`): "coupons[0].ends_at", with(`,"bearers":[{"party":"a","bps":9999},{"party":"b","bps":2}]`): "coupons[0].bearers",
		with(`,"bearers":[]`): "coupons[0].bearers", with(`,"bearers":[{"party":"a","BPS":1}]`): "coupons[0].bearers[0].BPS",
		with(`,"scope":{"skus":["a","a"]}`): "coupons[0].scope.skus[1]", with(`,"scope":{"skus":[1]}`): "coupons[0].scope.skus[0]", with(`,"cap":1`): "coupons[0].cap",
		with(`,"layer":"shop"`): "coupons[0].layer", with(`,"currency":"x"`): "coupons[0].currency", with(`,"value":2`): "coupons[0].value", with(`,"stack_with":null`): "coupons[0].stack_with",
		with(`},{"id":"k","kind":"amount","value":1`): "coupons[1].id", with(`},{"kind":"amount","value":1`): "coupons[1].id", with(`},{"id":"b","kind":"percent","value":101`): "coupons[1].value",
		lines(2): "lines[1].id", lines(10_001): "lines", strings.Replace(lines(1), `"quantity":1`, `"quantity":0`, 1): "lines[0].quantity",
		strings.Replace(lines(1), `"quantity":1`, `"quantity":2,"unit_price":9223372036854775807`, 1): "lines[0].unit_price",
		`{"currency":"CNY","coupons":[],"shipping":[{"merchant":"m","fee":-1}]}`:                      "shipping[0].fee",
		`{"currency":"CNY","coupons":[],"shipping":[{"merchant":"m"},{"merchant":"m"}]}`:              "shipping[1].merchant",
		`{"currency":"CNY","coupons":[],"shipping":[{"fee":1},{"merchant":"","fee":1}]}`:              "shipping[1].merchant",
		`{"currency":"CNY","shipping":[` + strings.Repeat(`{},`, 10_000) + `{}]}`:                     "shipping",
		`{"currency":"CNY","coupons":[` + strings.Repeat(`{},`, maxInline) + `{}]}`:                   "coupons",
	} {
		a := doWith(t, "POST", url+"/v1/quotes", body, "Bearer "+tokenOf(t, "ann", now))
		wantProblem(t, a, 400, "invalid-request")
		if a.body["field"] != field {
			t.Errorf("%.200s: field %v, want %s (%v)", body, a.body["field"], field, a.body["detail"])
		}
	}
	wantProblem(t, doWith(t, "POST", url+"/v1/quotes", strings.Repeat(" ", maxCart)+"{}", "Bearer "+tokenOf(t, "ann", now)), 413, "too-large")
	wantProblem(t, doWith(t, "POST", url+"/v1/quotes", smallQuote+"}", "Bearer x"), 401, "unauthenticated")
	wantProblem(t, doWith(t, "POST", url+"/v1/quotes", smallQuote+"}", "Bearer sk_acme_coupons:lock"), 403, "missing-scope")
	wantProblem(t, do(t, "GET", url+"/v1/quotes"), 405, "method-not-allowed")
	if s.of != "" {
		t.Error("the store was asked")
	}
	s.err = errors.New("password of db.internal")
	wantProblem(t, doWith(t, "POST", url+"/v1/quotes", smallQuote+"}", "Bearer "+tokenOf(t, "ann", now)), 503, "unavailable")
}

func TestQuotes_OfTenThousandLinesAreAnswered(t *testing.T) {
	t.Parallel()
	url := serveShop(t, &shop{})
	a := doWith(t, "POST", url+"/v1/quotes", cartOf(10_000, 3), "Bearer "+tokenOf(t, "ann", now))
	if lines, _ := a.body["lines"].([]any); a.status != 200 || len(lines) != 10_000 {
		t.Errorf("%d with %d lines", a.status, len(lines))
	}
}

// TestQuotes_ScopesOfCouponsInTheBodyAreAsLongAsTheDocumentSays: longer than a template's.
func TestQuotes_ScopesOfCouponsInTheBodyAreAsLongAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	most := documentedMost(t, "CartNames")
	if scope := documented(t, "CouponMembers"); !strings.Contains(scope, "scope: {$ref: '#/components/schemas/CartScope'}") || strings.Count(documented(t, "CartScope"), "schemas/CartNames'") != 3 {
		t.Fatalf("the scope is described elsewhere: %s", scope)
	}
	url := serveShop(t, &shop{})
	for _, n := range []int{101, most, most + 1} {
		skus := make([]string, n)
		for i := range skus {
			skus[i] = fmt.Sprintf(`"s%d"`, i)
		}
		a := doWith(t, "POST", url+"/v1/quotes", smallQuote+`,"coupons":[{"id":"k","kind":"amount","value":1,"scope":{"skus":[`+strings.Join(skus, ",")+`]}}]}`, "Bearer "+tokenOf(t, "ann", now))
		if good := a.status == 200; good != (n <= most) || !good && a.body["field"] != "coupons[0].scope.skus" {
			t.Errorf("%d of %d names: %d %v", n, most, a.status, a.body)
		}
	}
}

// documented is a schema's text in the document.
func documented(t *testing.T, schema string) string {
	t.Helper()
	_, text, found := strings.Cut(string(document), "\n    "+schema+":")
	if !found {
		t.Fatalf("there is no schema %s", schema)
	}
	end := regexp.MustCompile(`\n {0,4}[A-Za-z]`).FindStringIndex(text)
	return text[:end[0]]
}

func documentedMost(t *testing.T, schema string) (items int) {
	t.Helper()
	_, text, _ := strings.Cut(documented(t, schema), "maxItems: ")
	if _, err := fmt.Sscanf(text, "%d", &items); err != nil {
		t.Fatalf("%s has no maxItems: %v", schema, err)
	}
	return items
}

// cartOf is the body of a quote of so many lines and coupons, which all combine.
func cartOf(lines, coupons int) string {
	var b bytes.Buffer
	b.WriteString(`{"currency":"CNY","lines":[`)
	for i := range lines {
		fmt.Fprintf(&b, `%s{"id":"l%d","merchant":"m%d","sku":"s%d","category":"c","quantity":3,"unit_price":%d}`, comma(i), i, i%7, i, 990+i)
	}
	b.WriteString(`],"shipping":[{"merchant":"m1","fee":800}],"coupons":[`)
	for i := range coupons {
		fmt.Fprintf(&b, `%s{"id":"k%d","kind":"percent","value":%d,"scope":{"merchants":["m%d","m%d"]},"group":"g","stack_with":["h"],"bearers":[{"party":"platform","bps":7000},{"party":"m","bps":3000}]}`,
			comma(i), i, 60+i%39, i%7, (i+1)%7)
	}
	b.WriteString(`]}`)
	return b.String()
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// FuzzQuoteBody holds that no body makes the reading of quotes panic, and that what is
// refused, there or by the pricing, names a field.
func FuzzQuoteBody(f *testing.F) {
	for _, seed := range []string{
		smallQuote + "}", smallQuote + `,"coupons":[]}`, cartOf(2, 3), `{"currency":"CNY","at":"2026-12-01T10:00:00+08:00"}`, `{"currency":"CNY","coupons":[{"id":"k"}]}`,
		`{"currency":"CNY","coupons":[{"id":"k","kind":"amount","value":1,"bearers":[{"party":"a","bps":10001}]}]}`, `{`, `null`, `{"currency":"CNY","lines":[{"id":"\u0000"}]}`,
		`{"currency":"CNY","lines":[{"id":"a","quantity":9223372036854775807,"unit_price":2}],"coupons":[]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		asked, bad := readQuote(body, caller{userID: "ann"})
		if bad == nil && asked.Coupons != nil {
			if _, err := pricing.Best(asked.WithDefaults(now)); err != nil {
				bad = invalidCart(err, "")
			}
		}
		if bad != nil && (bad.Status != http.StatusBadRequest || bad.Field == "" || bad.Detail == "") {
			t.Errorf("%q is refused by %+v", body, bad)
		}
	})
}

// FuzzCheckoutBody is the same for the calls of order systems.
func FuzzCheckoutBody(f *testing.F) {
	for _, seed := range callsOf() {
		f.Add([]byte(seed))
		f.Add([]byte(strings.Replace(seed, "{", `{"user_id":"ann",`, 1)))
	}
	f.Add([]byte(`{"order_id":"A","refund_id":"R","lines":[{"id":"l","quantity":1},{"id":"l","quantity":1}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, who := range []caller{{userID: "ann"}, {merchant: "acme"}} {
			lock, badLock := readLock(body, who)
			refund, badRefund := readRefund(body, who)
			for _, bad := range []*problem{badLock, badRefund} {
				if bad != nil && (bad.Status != http.StatusBadRequest || bad.Field == "" || bad.Detail == "") {
					t.Errorf("%q is refused by %+v", body, bad)
				}
			}
			if badLock == nil && (lock.UserID == "" || lock.OrderID == "" || len(lock.CouponIDs) == 0 || lock.Hold < time.Second) {
				t.Errorf("%q is taken as %+v", body, lock)
			}
			if badRefund == nil && (refund.RefundID == "" || len(refund.Lines) == 0 && !refund.Shipping) {
				t.Errorf("%q is taken as %+v", body, refund)
			}
		}
	})
}

// BenchmarkQuotes is the whole call beside the pricing in it: 30 coupons, 20 lines.
func BenchmarkQuotes(b *testing.B) {
	body := cartOf(20, 30)
	b.Run("call", func(b *testing.B) {
		a := &api{Backing: Backing{Now: func() time.Time { return now }}, smallCarts: newTurns(1, 1)}
		b.ReportAllocs()
		for b.Loop() {
			r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/quotes", strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			a.quote(discard{http.Header{}}, r, caller{userID: "ann"})
		}
	})
	b.Run("pricing", func(b *testing.B) {
		asked, bad := readQuote([]byte(body), caller{userID: "ann"})
		if bad != nil {
			b.Fatal(bad.Detail)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := pricing.Best(asked.WithDefaults(now)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// discard is an answer that nobody reads; one that is no quote fails the benchmark's point.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(status int) {
	if status != http.StatusOK {
		panic(status)
	}
}
