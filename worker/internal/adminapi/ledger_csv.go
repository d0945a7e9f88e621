package adminapi

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sluice/shared/coupon"
)

// ledgerColumns are the first line.
var ledgerColumns = []string{"day", "party", "currency", "given", "honoured", "reversed", "net"}

// writeLedgerCSV writes sums as a file for a spreadsheet. An error means that the client
// has gone.
func writeLedgerCSV(w http.ResponseWriter, from, to time.Time, sums []coupon.LedgerSum) {
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="ledger-%s-%s.csv"`, fileTime(from), fileTime(to)))
	w.WriteHeader(http.StatusOK)
	lines := csv.NewWriter(w)
	_ = lines.Write(ledgerColumns)
	for _, sum := range sums {
		row := ledgerRowOf(sum)
		_ = lines.Write([]string{row.Day, plainCell(row.Party), plainCell(row.Currency),
			row.Given.String(), row.Honoured.String(), row.Reversed.String(), row.Net.String()})
	}
	lines.Flush()
}

// fileTime is an instant as a part of a file name: the date if it is the begin of one.
func fileTime(t time.Time) string {
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02T150405.999999999Z")
}

// plainCell keeps a spreadsheet from taking a text for a formula.
func plainCell(text string) string {
	if text != "" && strings.ContainsAny(text[:1], "=+-@\t\r") {
		return "'" + text
	}
	return text
}
