package coupon

import (
	"cmp"
	"errors"
	"time"
)

// Bounds of a rule.
const (
	MaxTotal  = 100_000_000       // coupons of a template: as many as a sale has units
	MaxMinor  = 1_000_000_000_000 // of the value of an amount, of a threshold and a cap
	maxListed = 100               // names of a list: each coupon has them all
)

// DefaultTerms are those of a rule that says nothing beside its kind and its value.
func DefaultTerms() Terms {
	return Terms{
		Scope: Scope{Merchants: []string{}, SKUs: []string{}, Categories: []string{}}, StackWith: []string{},
		Layer: LayerPlatform, Bearers: []Bearer{{Party: "platform", BPS: FullBPS}}, Currency: "CNY", IfGone: GoneHonour,
	}
}

// Rule is all that a template says, and how many of its coupons are given out.
type Rule struct {
	Template
	Terms
}

// Validate says whether a rule agrees with itself, as Validate and Terms.Validate do, and
// keeps within bounds. Its error is a *TermsError too where it is about a field of the
// template.
func (r Rule) Validate() error {
	err := Validate(r.Template)
	switch {
	case err == nil:
		return cmp.Or(r.bounded(), r.Terms.Validate(r.Kind))
	case r.Total < 0:
		return wrong("total", "must be 0..%d, is %d", MaxTotal, r.Total)
	case r.MinAmountCents < 0:
		return wrong("min_amount", "must be 0..%d, is %d", int64(MaxMinor), r.MinAmountCents)
	case errors.Is(err, ErrEmptyTemplateID):
		return wrong("id", "is missing")
	case errors.Is(err, ErrInvalidKind):
		return wrong("kind", "must be amount, percent or free_shipping, is %s", quoted(r.Kind))
	case errors.Is(err, ErrInvalidValue):
		return wrong("value", "must be %s for kind %s, is %d", valuesOf(r.Kind), r.Kind, r.Value)
	}
	return err
}

func (r Rule) bounded() error {
	for _, n := range []struct {
		field       string
		value, most int64
	}{
		{"value", r.Value, MaxMinor}, {"min_amount", r.MinAmountCents, MaxMinor}, {"cap", r.CapMinor, MaxMinor}, {"total", r.Total, MaxTotal},
	} {
		if n.value > n.most {
			return wrong(n.field, "must be at most %d, is %d", n.most, n.value)
		}
	}
	for _, list := range []struct {
		field string
		names []string
	}{
		{"scope.merchants", r.Scope.Merchants}, {"scope.skus", r.Scope.SKUs}, {"scope.categories", r.Scope.Categories}, {"stack_with", r.StackWith},
	} {
		if n := len(list.names); n > maxListed {
			return wrong(list.field, "must be at most %d, are %d", maxListed, n)
		}
	}
	return cmp.Or(boundedTime("starts_at", r.StartsAt), boundedTime("ends_at", r.EndsAt))
}

func boundedTime(field string, at time.Time) error {
	switch {
	case at.IsZero():
		return nil
	case at.UTC().Year() < 2000 || at.UTC().Year() > 9998:
		return wrong(field, "must lie in the years 2000 to 9998")
	case at.Nanosecond()%int(time.Millisecond) != 0:
		return wrong(field, "must be exact to the millisecond")
	}
	return nil
}

func valuesOf(k Kind) string {
	switch k {
	case KindAmount:
		return "at least 1"
	case KindPercent:
		return "1..100, the percentage paid,"
	case KindFreeShipping:
	}
	return "0"
}

// Standing is how a template stands in the store.
type Standing struct {
	Rule
	CopiedFrom string    // the template that it was copied from; else ""
	OffShelfAt time.Time // when it was taken off the shelf; zero while it is on it
	SaleID     string    // the sale that gives it out, retired ones too; "" for none
	CreatedAt  time.Time
	ChangedAt  time.Time
}

// OffShelf reports whether nobody is to claim of it any more.
func (s Standing) OffShelf() bool { return !s.OffShelfAt.IsZero() }
