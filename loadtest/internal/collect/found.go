package collect

import (
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// Found counts what the evidence of a sale says for the words of a report: units, what
// became of the reservations answered 202, and orders that should not be.
func Found(e sale.Evidence) report.Found {
	f := report.Found{Units: e.Total}
	if e.Redis.Stock > 0 {
		f.Left = e.Total
	}
	states, held := make(map[string]sale.OrderState), make(map[string]int)
	var holding int64
	for _, o := range e.Orders {
		states[o.RID] = o.State
		if !o.HoldsUnit {
			continue
		}
		holding++
		if held[o.UserID]++; held[o.UserID] > e.PerUserLimit {
			f.Doubles++
		}
	}
	f.Oversold = max(0, holding-e.Total)
	for _, seen := range e.Client {
		if !seen.Accepted {
			continue
		}
		f.Accepted++
		switch state, found := states[seen.RID]; {
		case !found:
		case state == sale.OrderRejected:
			f.Rejected++
		default:
			f.Ordered++
		}
	}
	return f
}
