package pricing

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"sluice/shared/coupon"
)

// check refuses a cart that cannot be priced: *InvalidError.
func (c *Cart) check() error {
	if !isCurrency(c.Currency) {
		return invalid("must be three capital letters", "currency")
	}
	total, err := c.checkLines()
	if err != nil {
		return err
	}
	if err := c.checkShipping(total); err != nil {
		return err
	}
	for i := range c.Coupons {
		if err := c.Coupons[i].check(i); err != nil {
			return err
		}
	}
	return nil
}

// checkLines returns what the lines add up to.
func (c *Cart) checkLines() (int64, error) {
	total := int64(0)
	for i := range c.Lines {
		l := &c.Lines[i]
		switch {
		case l.ID == "":
			return 0, invalid("must not be empty", "lines[%d].id", i)
		case l.Quantity < 1:
			return 0, invalid("must be at least 1", "lines[%d].quantity", i)
		case l.UnitPriceMinor < 0:
			return 0, invalid("must not be negative", "lines[%d].unit_price", i)
		}
		amount, fits := product(l.Quantity, l.UnitPriceMinor)
		if fits {
			total, fits = sum(total, amount)
		}
		if !fits {
			return 0, invalid("the cart's total exceeds 9223372036854775807", "lines[%d].unit_price", i)
		}
	}
	return total, nil
}

// checkShipping is told what the lines add up to.
func (c *Cart) checkShipping(total int64) error {
	for i, p := range c.Shipping {
		if p.FeeMinor < 0 {
			return invalid("must not be negative", "shipping[%d].fee", i)
		}
		with, fits := sum(total, p.FeeMinor)
		if !fits {
			return invalid("the cart's total exceeds 9223372036854775807", "shipping[%d].fee", i)
		}
		total = with
	}
	return nil
}

// ascending returns the numbers below n in the order of their names. A name that comes
// twice is an error that names the field of the second.
func ascending(n int, name func(int) string, field string) ([]int, error) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		if c := strings.Compare(name(i), name(j)); c != 0 {
			return c
		}
		return cmp.Compare(i, j)
	})
	for k := 1; k < n; k++ {
		if name(order[k-1]) == name(order[k]) {
			return nil, invalid("comes twice", field, order[k])
		}
	}
	return order, nil
}

func isCurrency(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// check refuses a coupon whose terms do not agree with themselves.
func (c *Coupon) check(number int) error {
	switch err := coupon.Validate(coupon.Template{ID: c.ID, Kind: c.Kind, Value: c.Value, MinAmountCents: c.MinAmountCents}); {
	case errors.Is(err, coupon.ErrEmptyTemplateID):
		return invalid("must not be empty", "coupons[%d].id", number)
	case errors.Is(err, coupon.ErrInvalidTemplate):
		return invalid("must not be negative", "coupons[%d].min_amount", number)
	case errors.Is(err, coupon.ErrInvalidKind):
		return invalid("must be amount, percent or free_shipping", "coupons[%d].kind", number)
	case errors.Is(err, coupon.ErrInvalidValue):
		return invalid("must be at least 1 of an amount, 1 to 100 of percent, 0 of free_shipping", "coupons[%d].value", number)
	}
	terms := c.Terms
	terms.IfGone = cmp.Or(terms.IfGone, coupon.GoneHonour) // nothing here depends on it
	if wrong, is := errors.AsType[*coupon.TermsError](terms.Validate(c.Kind)); is {
		return invalid(wrong.Detail, "coupons[%d].%s", number, wrong.Field)
	}
	return nil
}
