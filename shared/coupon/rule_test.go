package coupon

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// aRule is one that is valid.
func aRule() Rule {
	return Rule{Template: Template{ID: "newcomer", Kind: KindPercent, Value: 80, Total: 10}, Terms: DefaultTerms()}
}

func TestRule_ThatIsSilentIsValidAndHasNoNilList(t *testing.T) {
	t.Parallel()
	r := aRule()
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if r.Scope.Merchants == nil || r.Scope.SKUs == nil || r.Scope.Categories == nil || r.StackWith == nil {
		t.Errorf("the defaults are %+v", r.Terms)
	}
	if r.IfGone != GoneHonour || r.Currency != "CNY" {
		t.Errorf("the defaults are %+v", r.Terms)
	}
}

func TestRule_NamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	names := strings.Split(strings.Repeat("a ", maxListed+1), " ")[:maxListed+1]
	for field, change := range map[string]func(*Rule){
		"id":               func(r *Rule) { r.ID = "" },
		"kind":             func(r *Rule) { r.Kind = "gift" },
		"value":            func(r *Rule) { r.Value = 101 },
		"total":            func(r *Rule) { r.Total = -1 },
		"min_amount":       func(r *Rule) { r.MinAmountCents = -1 },
		"cap":              func(r *Rule) { r.CapMinor = MaxMinor + 1 },
		"scope.merchants":  func(r *Rule) { r.Scope.Merchants = names },
		"scope.skus":       func(r *Rule) { r.Scope.SKUs = names },
		"scope.categories": func(r *Rule) { r.Scope.Categories = names },
		"stack_with":       func(r *Rule) { r.StackWith = names },
		"starts_at":        func(r *Rule) { r.StartsAt = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC) },
		"ends_at":          func(r *Rule) { r.EndsAt = time.Date(2030, 1, 1, 0, 0, 0, 1000, time.UTC) },
		"bearers":          func(r *Rule) { r.Bearers = nil },
		"currency":         func(r *Rule) { r.Currency = "" },
	} {
		r := aRule()
		change(&r)
		var wrong *TermsError
		if err := r.Validate(); !errors.As(err, &wrong) || wrong.Field != field || wrong.Detail == "" {
			t.Errorf("%s: %v", field, err)
		}
	}
	for field, change := range map[string]func(*Rule){
		"value":      func(r *Rule) { r.Kind, r.Value = KindAmount, MaxMinor+1 },
		"min_amount": func(r *Rule) { r.MinAmountCents = MaxMinor + 1 },
		"total":      func(r *Rule) { r.Total = MaxTotal + 1 },
	} {
		r := aRule()
		change(&r)
		var wrong *TermsError
		if err := r.Validate(); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s beyond its bound: %v", field, err)
		}
	}
	r := aRule()
	if r.Issued = 11; r.Validate() == nil {
		t.Error("more given out than there are")
	}
}
