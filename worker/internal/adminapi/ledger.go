package adminapi

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"sluice/shared/coupon"
)

// Bounds of one answer.
const (
	maxLedgerDays = 366
	maxLedgerSums = 50_000
	ledgerWithin  = 30 * time.Second // it adds up a year of rows
)

// ledger is who bears the discounts of coupons.
type ledger interface {
	// LedgerSums returns sums by day, party and currency in ascending order, of what was
	// written at from or later and before to.
	LedgerSums(ctx context.Context, from, to time.Time, limit int) ([]coupon.LedgerSum, error)
}

type ledgerBody struct {
	From time.Time   `json:"from"`
	To   time.Time   `json:"to"`
	Rows []ledgerRow `json:"rows"`
}

type ledgerRow struct {
	Day      string   `json:"day"` // UTC
	Party    string   `json:"party"`
	Currency string   `json:"currency"`
	Given    *big.Int `json:"given"` // this and the others in minor units of Currency
	Honoured *big.Int `json:"honoured"`
	Reversed *big.Int `json:"reversed"`
	Net      *big.Int `json:"net"`
}

func ledgerRowOf(s coupon.LedgerSum) ledgerRow {
	return ledgerRow{
		Day: s.Day.Format(time.DateOnly), Party: s.Party, Currency: s.Currency,
		Given: s.Given, Honoured: s.Honoured, Reversed: s.Reversed, Net: s.Net(),
	}
}

// listLedger is GET /admin/v1/ledger: the settlement of what parties bear.
func (a *API) listLedger(_ context.Context, c call) {
	query, bad := c.query("from", "to", "format")
	if bad != nil {
		bad.write(c.w)
		return
	}
	from, badFrom := instantOf(query, "from")
	to, badTo := instantOf(query, "to")
	format, badFormat := formatOf(query)
	if bad := first(badFrom, badTo, badFormat, badRange(from, to)); bad != nil {
		bad.write(c.w)
		return
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), ledgerWithin)
	defer cancel()
	sums, err := c.Ledger.LedgerSums(ctx, from, to, maxLedgerSums+1)
	switch {
	case err != nil:
		a.fail(c, err)
	case len(sums) > maxLedgerSums:
		invalidRequest("to", fmt.Sprintf("There are more than %d sums in this time; ask for less of it.", maxLedgerSums)).write(c.w)
	case format == "csv":
		writeLedgerCSV(c.w, from, to, sums)
	default:
		c.answer(http.StatusOK, ledgerBody{From: from, To: to, Rows: each(sums, ledgerRowOf)})
	}
}

// instantOf reads a date, which is the begin of that day in UTC, or a time.
func instantOf(query map[string]string, name string) (time.Time, *problem) {
	text := query[name]
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, invalidRequest(name, name+" must be a date such as 2026-11-11, or a time such as 2026-11-11T00:00:00Z.")
}

func formatOf(query map[string]string) (string, *problem) {
	format, ok := query["format"]
	switch {
	case !ok:
		return "json", nil
	case format != "json" && format != "csv":
		return "", invalidRequest("format", "format must be json or csv.")
	}
	return format, nil
}

// badRange refuses what ends before it begins, and what is too much.
func badRange(from, to time.Time) *problem {
	switch {
	case !to.After(from):
		return invalidRequest("to", "to must be after from: what is written at to does not count.")
	case to.After(from.AddDate(0, 0, maxLedgerDays)):
		return invalidRequest("to", fmt.Sprintf("to must be at most %d days after from.", maxLedgerDays))
	}
	return nil
}
