package report

import (
	"fmt"
	"strings"
)

// Sold is what one system made of the demand for a sale of goods, over the rounds.
type Sold struct {
	System   string `json:"system"`
	Units    int64  `json:"units"`
	Attempts int64  `json:"attempts"` // of a round
	Rounds   int    `json:"rounds"`

	OrderLayer   Spread `json:"order_layer"`  // attempts that came to where orders are decided: the database, or Redis before it
	LastOrderS   Spread `json:"last_order_s"` // from the first attempt until the last order row
	UnitsS       Spread `json:"until_units_s"`
	Orders       Spread `json:"orders"`
	Over         Spread `json:"over"`    // orders beyond the units
	Doubles      Spread `json:"doubles"` // orders beyond a buyer's limit
	WinnerP95MS  Spread `json:"winner_p95_ms"`
	RefusedP95MS Spread `json:"refused_p95_ms"` // sold out; 0 where nobody was
	AttemptsPerS Spread `json:"attempts_per_s"`

	DBRows             Spread `json:"db_rows"`               // inserted, updated and deleted
	DBTransactions     Spread `json:"db_transactions"`       // read-only ones included
	DBRowsPerS         Spread `json:"db_rows_per_s"`         // until the last answer and the last order row
	DBTransactionsPerS Spread `json:"db_transactions_per_s"` // the same
}

// soldHead are the headings of Cells.
var soldHead = []string{"system", "attempts at its order layer", "database rows", "a second", "database transactions", "a second", "p95 of winners", "p95 of refused", "attempts a second", "until as many orders as units", "until the last order row", "orders too many", "doubles"}

// Cells are the row of a table for people.
func (s Sold) Cells() []string {
	refused := "nobody was"
	if s.RefusedP95MS.Max > 0 {
		refused = millis(s.RefusedP95MS.Median)
	}
	units := "never"
	if s.UnitsS.Max > 0 {
		units = inSeconds(s.UnitsS.Median)
	}
	last := inSeconds(s.LastOrderS.Median)
	if s.LastOrderS.Min != s.LastOrderS.Max {
		last = fmt.Sprintf("%s (%s to %s)", last, inSeconds(s.LastOrderS.Min), inSeconds(s.LastOrderS.Max))
	}
	return []string{s.System, counts(s.OrderLayer), counts(s.DBRows), counts(s.DBRowsPerS), counts(s.DBTransactions), counts(s.DBTransactionsPerS),
		millis(s.WinnerP95MS.Median), refused, counts(s.AttemptsPerS), units, last, counts(s.Over), counts(s.Doubles)}
}

// SoldTable is a Markdown table of rows.
func SoldTable(rows []Sold) string {
	var text strings.Builder
	fmt.Fprintf(&text, "| %s |\n|%s\n", strings.Join(soldHead, " | "), strings.Repeat("---|", len(soldHead)))
	for _, s := range rows {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(s.Cells(), " | "))
	}
	return text.String()
}
