package main

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/pgstore"
	"sluice/shared/sale"
)

// loadClaims makes a sale of coupons live, of a template of its own, which it returns.
func (w *world) loadClaims(total int64) (templateID string) {
	w.t.Helper()
	n := testSales.Add(1)
	id := "gift-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(n, 10)
	templateID = "newcomer-" + strconv.FormatInt(n, 10)
	now := time.Now()
	w.loadSale(w.context(), pgstore.Catalogue{
		Templates: []coupon.Rule{{
			Template: coupon.Template{ID: templateID, Kind: coupon.KindAmount, Value: 2000, MinAmountCents: 10000, Total: total},
			Terms:    coupon.DefaultTerms(),
		}},
		Sales: []pgstore.SaleConfig{{Sale: sale.Sale{
			ID: id, Kind: sale.KindCoupon, Title: "Coupon", Template: templateID, Total: total, PerUserLimit: 1,
			OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), Mode: sale.ModeQueued, RebuyAfterRelease: true, Weight: 1,
		}}},
	})
	return templateID
}

func TestOpenAPI_TemplatesOfOperators(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	p, ops := w.startWithAdmin("")
	const all = "/admin/v1/templates"
	w.wantAnswer(w.operate(ops, "GET", all, ""), 200, `{"templates":[]}`)
	w.wantAnswer(w.operate(ops, "HEAD", all, ""), 200, "")

	body := `{"id":"spring","kind":"percent","value":80,"total":5,"scope":{"skus":["PHONE-1"]},"ends_at":"2099-01-01T08:00:00+08:00"}`
	want := `{"id":"spring","kind":"percent","value":80,"min_amount":0,"total":5,"cap":0,"scope":{"merchants":[],"skus":["PHONE-1"],"categories":[]},` +
		`"layer":"platform","group":"","stack_with":[],"bearers":[{"party":"platform","bps":10000}],"currency":"CNY","ends_at":"2099-01-01T00:00:00Z",` +
		`"return_on_full_refund":false,"if_gone_after_payment":"honour","issued":0,"copied_from":null,"off_shelf_at":null,"sale":null,"created_at":"`
	for _, status := range []int{201, 200} {
		w.wantAnswer(w.operate(ops, "POST", all, body, "Sluice-Operator: ada"), status, want)
	}
	w.wantAnswer(w.operate(ops, "POST", all, strings.Replace(body, "80", "70", 1)), 409, "/problems/template-exists")
	for bad, field := range map[string]string{
		"": "body", `{"id":"a","kind":"percent","value":80}`: "total", strings.Replace(body, "80", "101", 1): "value", strings.Replace(body, `["PHONE-1"]`, `["a","a"]`, 1): "scope.skus[1]",
	} {
		w.wantAnswer(w.operate(ops, "POST", all, bad), 400, `"field":"`+field+`"`)
	}

	copied := strings.NewReplacer(`"id":"spring"`, `"id":"summer"`, `"total":5`, `"total":9`, `"copied_from":null`, `"copied_from":"spring"`).Replace(want)
	for _, status := range []int{201, 200} {
		w.wantAnswer(w.operate(ops, "POST", all+"/spring/copy", `{"id":"summer","total":9}`), status, copied)
	}
	w.wantAnswer(w.operate(ops, "POST", all+"/spring/copy", `{"id":"summer","total":8}`), 409, "/problems/template-exists")
	w.wantAnswer(w.operate(ops, "POST", all+"/spring/copy", `{"id":"B"}`), 400, `"field":"id"`)
	for _, id := range []string{"absent", "B", strings.Repeat("x", 65)} {
		w.wantAnswer(w.operate(ops, "POST", all+"/"+id+"/copy", `{"id":"winter"}`), 404, "/problems/no-such-template")
		w.wantAnswer(w.operate(ops, "POST", all+"/"+id+"/off-shelf", ""), 404, "/problems/no-such-template")
	}

	w.wantAnswer(w.operate(ops, "POST", all+"/summer/off-shelf", "{}"), 200, `"sale":null`)
	w.wantAnswer(w.operate(ops, "GET", all, ""), 200, `"id":"spring"`)
	log := w.operate(ops, "GET", "/admin/v1/audit-log", "")
	for _, part := range []string{
		`"operator":"ada","address":"127.0.0.1","action":"template-create","sale":"","subject":"spring","before":{`,
		`"action":"template-copy","sale":"","subject":"summer"`, `"action":"template-off-shelf","sale":"","subject":"summer","before":{"off_shelf_at":null},"after":{"off_shelf_at":"`,
	} {
		w.wantAnswer(log, 200, part)
	}
	w.stopped(p)
}

// Whoever claims is refused by Redis, without another call.
func TestAdmin_ATemplateOffTheShelfPausesItsSaleEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	template := w.loadClaims(5)
	p, ops := w.startWithAdmin("")
	at := "/admin/v1/sales/" + w.entry.ID
	w.wantAnswer(w.operate(ops, "GET", at, ""), 200, `"kind":"coupon","title":"Coupon","sku":"`+template+`","template":"`+template+`","price":0,"currency":"CNY"`)
	w.wantAnswer(w.operate(ops, "POST", at+"/stock", `{"adjustment_id":"more","delta":1}`), 409, "/problems/template-total")
	for range 2 {
		w.wantAnswer(w.operate(ops, "POST", "/admin/v1/templates/"+template+"/off-shelf", "", "Sluice-Operator: ada"), 200, `"sale":"`+w.entry.ID+`"`)
	}
	w.eventually("Redis has the pause", func() bool {
		s, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
		w.must(err)
		return s.Paused
	})
	w.eventually("the catalogue has the pause", func() bool {
		entries, err := w.queue.Entries(w.context())
		w.must(err)
		for _, e := range entries {
			if e.ID == w.entry.ID {
				return e.Paused
			}
		}
		return false
	})
	w.wantAnswer(w.operate(ops, "POST", at+"/resume", ""), 409, "/problems/template-off-shelf")
	w.wantAnswer(w.operate(ops, "GET", at, ""), 200, `"paused":true`)
	w.wantAnswer(w.operate(ops, "GET", "/admin/v1/audit-log?sale="+w.entry.ID, ""), 200, `"operator":"ada","address":"127.0.0.1","action":"pause","sale":"`+w.entry.ID+`","subject":"`+template+`"`)
	w.stopped(p)
}
