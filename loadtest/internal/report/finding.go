package report

import (
	"strings"

	"sluice/shared/sale"
)

// IsFinding reports whether a violation is one that is named by its invariant and, after a
// space, a text that its detail has: "I2 an order holds slot". Without a text any is.
func IsFinding(v sale.Violation, name string) bool {
	invariant, says, _ := strings.Cut(name, " ")
	return v.Invariant == invariant && strings.Contains(v.Detail, says)
}
