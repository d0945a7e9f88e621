package sale

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AllowListField names the allow list as the sales file does.
const AllowListField = "eligibility.allow_list"

// FieldChange is a field of a sale in which a new configuration differs from the old one.
type FieldChange struct {
	Field         string // as the sales file spells it
	Before, After string // for people
}

func (c FieldChange) String() string { return c.Field + ": " + c.Before + " → " + c.After }

// FixedField is a change that is refused.
type FixedField struct {
	FieldChange
	Reason string // and what to do instead
}

func (f FixedField) String() string { return f.FieldChange.String() + ": " + f.Reason }

// field is one line of the sales file.
type field struct {
	name string
	text func(Sale) string // differs when the field does
	// fixed says why a sale that was loaded once cannot change from a to b, "" when it can.
	fixed func(a, b Sale) string
}

// otherSale is what to do instead of a change that would break what buyers were told.
const otherSale = "apply another sale, under an id of its own, and close this one by POST /admin/v1/sales/%s/close"

func may(Sale, Sale) string { return "" }

func never(why string) func(a, b Sale) string {
	return func(a, _ Sale) string { return why + ": " + fmt.Sprintf(otherSale, a.ID) }
}

// fields are those of the sales file but for id, which makes another sale, and the users of
// an allow list, which a Sale does not have.
var fields = []field{
	{"kind", func(s Sale) string { return string(s.Kind) }, never("orders are of this kind")},
	{"title", func(s Sale) string { return strconv.Quote(s.Title) }, may},
	{"title.zh", func(s Sale) string { return strconv.Quote(s.Titles["zh"]) }, may},
	{"sku", func(s Sale) string { return strconv.Quote(s.SKU) }, never("orders are of this SKU")},
	{"template", func(s Sale) string { return s.Template }, never("coupons are of this template")},
	{"total", func(s Sale) string { return strconv.FormatInt(s.Total, 10) }, fixedTotal},
	{"price", func(s Sale) string { return strconv.FormatInt(s.PriceMinor, 10) }, never("orders are made at this price")},
	{"currency", func(s Sale) string { return s.Currency }, never("orders are made in this currency")},
	{"per_user_limit", func(s Sale) string { return strconv.Itoa(s.PerUserLimit) }, fixedLimit},
	{"opens_at", func(s Sale) string { return instant(s.OpensAt) }, may},
	{"closes_at", func(s Sale) string { return instant(s.ClosesAt) }, may},
	{"hold", func(s Sale) string { return s.Hold.String() }, may},
	{"mode", func(s Sale) string { return string(s.Mode) }, may},
	{"rebuy_after_release", func(s Sale) string { return strconv.FormatBool(s.RebuyAfterRelease) }, may},
	{"weight", func(s Sale) string { return strconv.Itoa(s.Weight) }, may},
	{"eligibility.min_account_age", func(s Sale) string { return s.Eligibility.MinAccountAge.String() }, may},
	{"eligibility.min_paid_orders", func(s Sale) string { return strconv.FormatInt(s.Eligibility.MinPaidOrders, 10) }, may},
	{"eligibility.tags", func(s Sale) string { return tagList(s.Eligibility.Tags) }, may},
	{AllowListField, func(s Sale) string { return allowed(s.Eligibility.HasAllowList) }, may},
}

func fixedTotal(a, _ Sale) string {
	return "units of a loaded sale are added or taken away by POST /admin/v1/sales/" + a.ID + "/stock"
}

func fixedLimit(a, b Sale) string {
	if b.PerUserLimit >= a.PerUserLimit {
		return ""
	}
	return "buyers may hold as many already, and a limit can only rise: " + fmt.Sprintf(otherSale, a.ID)
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func tagList(tags []string) string {
	quoted := make([]string, len(tags))
	for i, tag := range tags {
		quoted[i] = strconv.Quote(tag)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func allowed(listed bool) string {
	if listed {
		return "a list"
	}
	return "everybody"
}

// Changes are the fields in which b, another configuration of the same sale, differs from
// a, in the order of the sales file. Of the allow lists it sees only whether there is one.
func Changes(a, b Sale) []FieldChange {
	var changes []FieldChange
	for _, f := range fields {
		if before, after := f.text(a), f.text(b); before != after {
			changes = append(changes, FieldChange{Field: f.name, Before: before, After: after})
		}
	}
	return changes
}

// Fixed returns those of changes, from e as it is configured to next, that are refused.
func (e Entry) Fixed(next Sale, changes []FieldChange) []FixedField {
	var refused []FixedField
	for _, c := range changes {
		if why := e.fixes(next, c.Field); why != "" {
			refused = append(refused, FixedField{c, why})
		}
	}
	return refused
}

func (e Entry) fixes(next Sale, name string) string {
	window := name == "opens_at" || name == "closes_at"
	switch {
	case e.Retired:
		return "the sale is retired: apply another sale, under an id of its own"
	case window && !e.ClosedAt.IsZero():
		return "an operator closed the sale at " + instant(e.ClosedAt) + ", and it stays closed: apply another sale, under an id of its own"
	case e.Epoch == 0:
		return "" // nobody has seen it yet
	}
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	return fields[i].fixed(e.Sale, next)
}
