package coupon

import (
	"errors"
	"fmt"
)

// What Issue refuses, beside what Validate does.
var (
	ErrNegativeIssue = errors.New("coupons are not taken back by issuing")
	ErrOverIssue     = errors.New("the template has fewer coupons left")
)

// Issue counts n more coupons as given out and returns the template that then holds; the
// zero template with an error. It says what may be, and keeps nobody from doing it twice
// at once: that is the store's conditional update.
func Issue(t Template, n int64) (Template, error) {
	if n < 0 {
		return Template{}, fmt.Errorf("template %s: %w: %d", t.ID, ErrNegativeIssue, n)
	}
	if err := Validate(t); err != nil {
		return Template{}, err
	}
	if left := t.Total - t.Issued; n > left { // 0 <= Issued <= Total: no overflow
		return Template{}, fmt.Errorf("template %s: %w: %d asked for, %d of %d left", t.ID, ErrOverIssue, n, left, t.Total)
	}
	t.Issued += n
	return t, nil
}
