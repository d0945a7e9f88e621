package pgstore

import (
	"encoding/json"
	"strconv"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// ruleField is one key of a template in the sales file.
type ruleField struct {
	name string
	text func(coupon.Rule) string // differs when the field does
}

// ruleFields are those of the sales file but for id, which makes another template.
var ruleFields = []ruleField{
	{"kind", func(r coupon.Rule) string { return string(r.Kind) }},
	{"value", func(r coupon.Rule) string { return strconv.FormatInt(r.Value, 10) }},
	{"min_amount", func(r coupon.Rule) string { return strconv.FormatInt(r.MinAmountCents, 10) }},
	{"cap", func(r coupon.Rule) string { return strconv.FormatInt(r.CapMinor, 10) }},
	{"total", func(r coupon.Rule) string { return strconv.FormatInt(r.Total, 10) }},
	{"currency", func(r coupon.Rule) string { return r.Currency }},
	{"scope.merchants", func(r coupon.Rule) string { return inJSON(r.Scope.Merchants) }},
	{"scope.skus", func(r coupon.Rule) string { return inJSON(r.Scope.SKUs) }},
	{"scope.categories", func(r coupon.Rule) string { return inJSON(r.Scope.Categories) }},
	{"layer", func(r coupon.Rule) string { return string(r.Layer) }},
	{"group", func(r coupon.Rule) string { return strconv.Quote(r.Group) }},
	{"stack_with", func(r coupon.Rule) string { return inJSON(r.StackWith) }},
	{"starts_at", func(r coupon.Rule) string { return bound(r.StartsAt) }},
	{"ends_at", func(r coupon.Rule) string { return bound(r.EndsAt) }},
	{"bearers", func(r coupon.Rule) string { return inJSON(r.Bearers) }},
	{"return_on_full_refund", func(r coupon.Rule) string { return strconv.FormatBool(r.ReturnOnFullRefund) }},
	{"if_gone_after_payment", func(r coupon.Rule) string { return string(r.IfGone) }},
}

// ruleChanges are the fields in which b, another rule of the same template, differs from a,
// in the order of the sales file.
func ruleChanges(a, b coupon.Rule) []sale.FieldChange {
	var changes []sale.FieldChange
	for _, f := range ruleFields {
		if before, after := f.text(a), f.text(b); before != after {
			changes = append(changes, sale.FieldChange{Field: f.name, Before: before, After: after})
		}
	}
	return changes
}

// inJSON writes a list as the sales file may.
func inJSON[T any](list []T) string {
	text, err := json.Marshal(list)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func bound(t time.Time) string {
	if t.IsZero() {
		return "no bound"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
