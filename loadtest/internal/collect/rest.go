package collect

import (
	"context"
	"time"

	"sluice/shared/sale"
)

// standstill is how long nothing may move in a sale that is not at rest before it counts
// as standing still.
const standstill = 5 * time.Second

// AuditToRest audits a sale like Audit, and tells one that is slow from one that stands
// still: what is unfinished in a slow one is no fault, in the other it is.
func (s *Stores) AuditToRest(ctx context.Context, saleID string, seen []sale.Seen, patience time.Duration) (e sale.Evidence, v sale.Verdict, slow bool, err error) {
	if e, v, err = s.Audit(ctx, saleID, seen, patience); err != nil || v.AtRest {
		return e, v, false, err
	}
	later, _, err := s.Audit(ctx, saleID, seen, standstill)
	if err != nil {
		return e, v, false, err
	}
	v, slow = judgeLater(e, later)
	return later, v, slow, nil
}

// judgeLater judges a sale that was not at rest by what it has come to since.
func judgeLater(before, later sale.Evidence) (v sale.Verdict, slow bool) {
	slow = progress(before) != progress(later)
	later.Waited = later.Waited && !slow
	v = sale.Audit(later)
	if !v.AtRest && !slow && v.Pass {
		v.Pass = false
		v.Violations = append(v.Violations, sale.Violation{Invariant: "I4", Detail: "stands still, unfinished"})
	}
	return v, slow && !v.AtRest
}

// progressed is how far a sale has come.
type progressed struct {
	orders, rejected, releases, unapplied, handedOver int
	handOff, served                                   int64
	queued                                            int // tickets
	unshown                                           int // orders
	unpaid                                            int // payments that are not applied
}

func progress(e sale.Evidence) progressed {
	p := progressed{
		orders: len(e.Orders), releases: len(e.Releases), unapplied: e.Unapplied, handedOver: len(e.HandedOver),
		handOff: e.Redis.HandOff, served: e.Redis.Served,
	}
	for _, o := range e.Orders {
		if o.State == sale.OrderRejected {
			p.rejected++
		}
		if o.ShownState != o.State {
			p.unshown++
		}
	}
	for _, t := range e.Redis.Tickets {
		if t.Status == sale.StatusQueued {
			p.queued++
		}
	}
	for _, payment := range e.Payments {
		if payment.Result == sale.PaymentWaits {
			p.unpaid++
		}
	}
	return p
}
