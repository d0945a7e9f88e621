package pricing

import (
	"fmt"
	"strings"
)

// InvalidError says why a cart cannot be priced, whatever its coupons.
type InvalidError struct {
	Field  string // as a path in its JSON: lines[3].quantity
	Detail string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Detail }

func invalid(detail, field string, args ...any) error {
	return &InvalidError{Field: fmt.Sprintf(field, args...), Detail: detail}
}

// NotExactlyError says why a cart cannot be priced with all of its coupons.
type NotExactlyError struct {
	Rejected []Rejection // ascending by id, at least one
}

func (e *NotExactlyError) Error() string {
	var all []string
	for _, r := range e.Rejected {
		all = append(all, r.ID+": "+string(r.Reason))
	}
	return "coupons that cannot be used: " + strings.Join(all, ", ")
}
