package coupon

import (
	"errors"
	"fmt"
)

// What Validate refuses a template for.
var (
	ErrEmptyTemplateID = errors.New("the template has no id")
	ErrInvalidTemplate = errors.New("the template's counts do not fit")
	ErrInvalidKind     = errors.New("there is no such kind of coupon")
	ErrInvalidValue    = errors.New("the value does not fit the kind")
)

// Validate says whether a template agrees with itself. It never asks whether it is used
// up: a total of 0 is valid, and so is one of which all is issued.
func Validate(t Template) error {
	switch {
	case t.ID == "":
		return ErrEmptyTemplateID
	case t.Total < 0, t.Issued < 0, t.MinAmountCents < 0, t.Issued > t.Total:
		return fmt.Errorf("template %s: %w: %d issued of a total of %d, minimum %d", t.ID, ErrInvalidTemplate, t.Issued, t.Total, t.MinAmountCents)
	}
	return validValue(t)
}

func validValue(t Template) error {
	var fits bool
	switch t.Kind {
	case KindAmount:
		fits = t.Value > 0
	case KindPercent:
		fits = 1 <= t.Value && t.Value <= 100
	case KindFreeShipping:
		fits = t.Value == 0
	default:
		return fmt.Errorf("template %s: %w: %s", t.ID, ErrInvalidKind, quoted(t.Kind))
	}
	if !fits {
		return fmt.Errorf("template %s: %w: %d of kind %s", t.ID, ErrInvalidValue, t.Value, t.Kind)
	}
	return nil
}
