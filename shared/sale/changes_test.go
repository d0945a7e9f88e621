package sale_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

// eachField calls visit with every field of v that is no struct of ours, and its path.
func eachField(v reflect.Value, path string, visit func(path string, v reflect.Value)) {
	for i := range v.NumField() {
		f, name := v.Field(i), path+v.Type().Field(i).Name
		if f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[time.Time]() {
			eachField(f, name+".", visit)
			continue
		}
		visit(name, f)
	}
}

// alter gives a field another value.
func alter(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.ValueOf("x")))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"en": "x", "zh": "x"}))
	case reflect.Struct:
		v.Set(reflect.ValueOf(v.Interface().(time.Time).Add(time.Second)))
	default:
		t.Fatalf("%s is %v: say here how to change it", path, v.Kind())
	}
}

// A new field of a sale must be named in the list of fields: else warmup apply would
// neither show nor write a change of it.
func TestChanges_SeeEveryFieldOfASale(t *testing.T) {
	t.Parallel()
	var before sale.Sale
	seen := map[string]bool{}
	eachField(reflect.ValueOf(&before).Elem(), "", func(path string, _ reflect.Value) {
		if path == "ID" {
			return // another id is another sale
		}
		var after sale.Sale
		eachField(reflect.ValueOf(&after).Elem(), "", func(p string, v reflect.Value) {
			if p == path {
				alter(t, p, v)
			}
		})
		changes := sale.Changes(before, after)
		if len(changes) != 1 || changes[0].Before == changes[0].After || seen[changes[0].Field] {
			t.Errorf("%s: changes %v", path, changes)
			return
		}
		seen[changes[0].Field] = true
	})
	if changes := sale.Changes(before, before); changes != nil {
		t.Errorf("the same sale: %v", changes)
	}
}

func TestFixed_WhatALoadedSaleMayChangeAndWhatToDoInstead(t *testing.T) {
	t.Parallel()
	opens := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	entry := sale.Entry{Epoch: 1, Sale: sale.Sale{
		ID: "phone", Kind: sale.KindGoods, Title: "Phone", SKU: "P-1", Total: 10, PriceMinor: 100, Currency: "CNY", PerUserLimit: 2,
		OpensAt: opens, ClosesAt: opens.Add(time.Hour), Hold: time.Minute, Mode: sale.ModeQueued, Weight: 1,
	}}
	for _, c := range []struct {
		field  string
		change func(*sale.Sale)
		shown  string
		reason string // part of it; "" when it may change
	}{
		{"kind", func(s *sale.Sale) { s.Kind = sale.KindCoupon }, "goods → coupon", "under an id of its own"},
		{"title", func(s *sale.Sale) { s.Title = "Other" }, `"Phone" → "Other"`, ""},
		{"title.zh", func(s *sale.Sale) { s.Titles = map[string]string{"zh": "手机"} }, `"" → "手机"`, ""},
		{"sku", func(s *sale.Sale) { s.SKU = "P-2" }, `"P-1" → "P-2"`, "POST /admin/v1/sales/phone/close"},
		{"total", func(s *sale.Sale) { s.Total = 11 }, "10 → 11", "POST /admin/v1/sales/phone/stock"},
		{"price", func(s *sale.Sale) { s.PriceMinor = 99 }, "100 → 99", "under an id of its own"},
		{"currency", func(s *sale.Sale) { s.Currency = "EUR" }, "CNY → EUR", "under an id of its own"},
		{"per_user_limit", func(s *sale.Sale) { s.PerUserLimit = 3 }, "2 → 3", ""},
		{"per_user_limit", func(s *sale.Sale) { s.PerUserLimit = 1 }, "2 → 1", "can only rise"},
		{"opens_at", func(s *sale.Sale) { s.OpensAt = opens.Add(time.Millisecond) }, "2026-12-01T10:00:00Z → 2026-12-01T10:00:00.001Z", ""},
		{"closes_at", func(s *sale.Sale) { s.ClosesAt = opens.Add(time.Minute) }, "2026-12-01T11:00:00Z → 2026-12-01T10:01:00Z", ""},
		{"hold", func(s *sale.Sale) { s.Hold = time.Hour }, "1m0s → 1h0m0s", ""},
		{"mode", func(s *sale.Sale) { s.Mode = sale.ModeInstant }, "queued → instant", ""},
		{"rebuy_after_release", func(s *sale.Sale) { s.RebuyAfterRelease = true }, "false → true", ""},
		{"weight", func(s *sale.Sale) { s.Weight = 5 }, "1 → 5", ""},
		{"eligibility.min_account_age", func(s *sale.Sale) { s.Eligibility.MinAccountAge = time.Hour }, "0s → 1h0m0s", ""},
		{"eligibility.min_paid_orders", func(s *sale.Sale) { s.Eligibility.MinPaidOrders = 1 }, "0 → 1", ""},
		{"eligibility.tags", func(s *sale.Sale) { s.Eligibility.Tags = []string{"a", "b"} }, `[] → ["a", "b"]`, ""},
		{"eligibility.allow_list", func(s *sale.Sale) { s.Eligibility.HasAllowList = true }, "everybody → a list", ""},
	} {
		next := entry.Sale
		c.change(&next)
		changes := sale.Changes(entry.Sale, next)
		if len(changes) != 1 || changes[0].String() != c.field+": "+c.shown {
			t.Errorf("%s: changes %v, want %s", c.field, changes, c.shown)
			continue
		}
		refused := entry.Fixed(next, changes)
		if (len(refused) > 0) != (c.reason != "") || len(refused) > 0 && !strings.Contains(refused[0].Reason, c.reason) {
			t.Errorf("%s: refused %v, want %q", c.field, refused, c.reason)
		}
		fresh, retired, closed := entry, entry, entry
		fresh.Epoch, retired.Retired, closed.ClosedAt = 0, true, opens
		if refused := fresh.Fixed(next, changes); refused != nil {
			t.Errorf("%s before the first load: refused %v", c.field, refused)
		}
		if refused := retired.Fixed(next, changes); len(refused) != 1 || !strings.Contains(refused[0].Reason, "retired") {
			t.Errorf("%s of a retired sale: refused %v", c.field, refused)
		}
		window := slices.Contains([]string{"opens_at", "closes_at"}, c.field)
		if refused := closed.Fixed(next, changes); window && (len(refused) != 1 || !strings.Contains(refused[0].Reason, "stays closed")) {
			t.Errorf("%s of a closed sale: refused %v", c.field, refused)
		}
	}
}
