package coupon

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func validTerms() Terms {
	return Terms{
		CapMinor: 500, Layer: LayerPlatform, Group: "newcomer", StackWith: []string{"shop", "newcomer"},
		Scope:    Scope{Merchants: []string{"m1", "m2"}, SKUs: []string{"a"}, Categories: []string{}},
		Bearers:  []Bearer{{Party: "platform", BPS: 7_000}, {Party: "merchant", BPS: 3_000}},
		Currency: "CNY", StartsAt: noon, EndsAt: noon.Add(time.Hour), ReturnOnFullRefund: true, IfGone: GoneHonour,
	}
}

func TestTerms_Valid(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Terms){
		"as they are":        func(*Terms) {},
		"no cap":             func(t *Terms) { t.CapMinor = 0 },
		"no lists":           func(t *Terms) { t.Scope, t.StackWith = Scope{}, nil },
		"alone":              func(t *Terms) { t.Group, t.StackWith = "", []string{} },
		"merchant's":         func(t *Terms) { t.Layer = LayerMerchant },
		"most bearers":       func(t *Terms) { t.Bearers = parties(20) },
		"long list":          func(t *Terms) { t.Scope.SKUs = names(10_000) },
		"stacks twice":       func(t *Terms) { t.StackWith[1] = "shop" },
		"party twice":        func(t *Terms) { t.Bearers[1].Party = "platform" },
		"one bearer":         func(t *Terms) { t.Bearers = []Bearer{{"platform", 10_000}} },
		"least share":        func(t *Terms) { t.Bearers = []Bearer{{"a", 9_999}, {"b", 1}} },
		"no bounds":          func(t *Terms) { t.StartsAt, t.EndsAt = time.Time{}, time.Time{} },
		"no start":           func(t *Terms) { t.StartsAt = time.Time{} },
		"no end":             func(t *Terms) { t.EndsAt = time.Time{} },
		"shortest":           func(t *Terms) { t.EndsAt = t.StartsAt.Add(1) },
		"top up":             func(t *Terms) { t.IfGone = GoneTopUp },
		"refund":             func(t *Terms) { t.IfGone = GoneRefund },
		"longest name":       func(t *Terms) { t.Group = strings.Repeat("券", 128) },
		"same in two scopes": func(t *Terms) { t.Scope = Scope{Merchants: []string{"x"}, SKUs: []string{"x"}} },
	} {
		terms := validTerms()
		change(&terms)
		for _, kind := range []Kind{KindPercent, KindFreeShipping} {
			if err := terms.Validate(kind); err != nil {
				t.Errorf("%s, kind %s: %v", name, kind, err)
			}
		}
	}
}

func TestTerms_ErrorNamesTheField(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Terms)
		field  string
	}{
		"negative cap":          {func(t *Terms) { t.CapMinor = -1 }, "cap"},
		"empty merchant":        {func(t *Terms) { t.Scope.Merchants[1] = "" }, "scope.merchants[1]"},
		"merchant twice":        {func(t *Terms) { t.Scope.Merchants[1] = "m1" }, "scope.merchants[1]"},
		"sku twice":             {func(t *Terms) { t.Scope.SKUs = []string{"a", "b", "a"} }, "scope.skus[2]"},
		"category empty":        {func(t *Terms) { t.Scope.Categories = []string{""} }, "scope.categories[0]"},
		"control character":     {func(t *Terms) { t.Scope.SKUs[0] = "a\x00" }, "scope.skus[0]"},
		"no layer":              {func(t *Terms) { t.Layer = "" }, "layer"},
		"unknown layer":         {func(t *Terms) { t.Layer = "Platform" }, "layer"},
		"group too long":        {func(t *Terms) { t.Group = strings.Repeat("券", 129) }, "group"},
		"group not UTF-8":       {func(t *Terms) { t.Group = "\xff" }, "group"},
		"stacks with none":      {func(t *Terms) { t.StackWith[0] = "" }, "stack_with[0]"},
		"no bearers":            {func(t *Terms) { t.Bearers = nil }, "bearers"},
		"party empty":           {func(t *Terms) { t.Bearers[1].Party = "" }, "bearers[1].party"},
		"bears nothing":         {func(t *Terms) { t.Bearers[1].BPS = 0 }, "bearers[1].bps"},
		"bears less":            {func(t *Terms) { t.Bearers[0].BPS = -1 }, "bearers[0].bps"},
		"bears more than all":   {func(t *Terms) { t.Bearers[0].BPS = 10_001 }, "bearers[0].bps"},
		"together one more":     {func(t *Terms) { t.Bearers[1].BPS = 3_001 }, "bearers"},
		"together one less":     {func(t *Terms) { t.Bearers[1].BPS = 2_999 }, "bearers"},
		"too many bearers":      {func(t *Terms) { t.Bearers = append(parties(20), Bearer{"one-more", 1}) }, "bearers"},
		"twentieth twice":       {func(t *Terms) { t.Scope.SKUs = append(names(20), "sku-19") }, "scope.skus[20]"},
		"no currency":           {func(t *Terms) { t.Currency = "" }, "currency"},
		"small currency":        {func(t *Terms) { t.Currency = "CNy" }, "currency"},
		"two bytes a letter":    {func(t *Terms) { t.Currency = "CÉ" }, "currency"},
		"long currency":         {func(t *Terms) { t.Currency = "CNYY" }, "currency"},
		"ends as it starts":     {func(t *Terms) { t.EndsAt = t.StartsAt }, "ends_at"},
		"ends before":           {func(t *Terms) { t.EndsAt = t.StartsAt.Add(-1) }, "ends_at"},
		"no policy":             {func(t *Terms) { t.IfGone = "" }, "if_gone_after_payment"},
		"unknown policy":        {func(t *Terms) { t.IfGone = "honor" }, "if_gone_after_payment"},
		"first of two mistakes": {func(t *Terms) { t.Layer, t.Currency = "", "" }, "layer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			terms := validTerms()
			c.change(&terms)
			var wrong *TermsError
			if err := terms.Validate(KindPercent); !errors.As(err, &wrong) || wrong.Field != c.field || wrong.Detail == "" {
				t.Fatalf("%v, want an error of %s", err, c.field)
			}
		})
	}
}

func TestTerms_ErrorsRepeatTheirInputUpTo64Characters(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("券", 1<<16)
	for name, change := range map[string]func(*Rule){
		"kind":     func(r *Rule) { r.Kind = Kind(long) },
		"layer":    func(r *Rule) { r.Layer = Layer(long) },
		"group":    func(r *Rule) { r.Group = long },
		"stacks":   func(r *Rule) { r.StackWith[0] = long },
		"sku":      func(r *Rule) { r.Scope.SKUs[0] = long },
		"twice":    func(r *Rule) { r.Scope.SKUs = []string{long[:3*128], long[:3*128]} },
		"party":    func(r *Rule) { r.Bearers[0].Party = long },
		"currency": func(r *Rule) { r.Currency = long },
		"policy":   func(r *Rule) { r.IfGone = IfGone(long) },
	} {
		r := Rule{Template: Template{ID: "t", Kind: KindPercent, Value: 80}, Terms: validTerms()}
		change(&r)
		err := r.Validate()
		if err == nil || !strings.Contains(err.Error(), `"`+long[:3*64]+`"…`) {
			t.Errorf("%s: %.400v", name, err)
		}
	}
	r := Rule{Template: Template{ID: "t", Kind: KindPercent, Value: 80}, Terms: validTerms()}
	r.Layer = Layer(long[:3*64])
	if err := r.Validate(); err == nil || !strings.HasSuffix(err.Error(), `is "`+long[:3*64]+`"`) {
		t.Errorf("of 64 characters: %v", err)
	}
}

func TestTerms_AnAmountHasNoCap(t *testing.T) {
	t.Parallel()
	terms := validTerms()
	var wrong *TermsError
	if err := terms.Validate(KindAmount); !errors.As(err, &wrong) || wrong.Field != "cap" {
		t.Fatalf("%v, want an error of cap", err)
	}
	if terms.CapMinor = 0; terms.Validate(KindAmount) != nil {
		t.Fatalf("no cap: %v", terms.Validate(KindAmount))
	}
}

// parties bear 500 each.
func parties(n int) []Bearer {
	list := make([]Bearer, n)
	for i := range list {
		list[i] = Bearer{Party: fmt.Sprintf("party-%d", i), BPS: 500}
	}
	return list
}

func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("sku-%d", i)
	}
	return list
}

func TestTerms_ValidOnesCostNoMemory(t *testing.T) {
	terms := validTerms()
	if n := testing.AllocsPerRun(100, func() { _ = terms.Validate(KindPercent) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
