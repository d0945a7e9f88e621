package adminapi

import (
	"context"
	"net/http"
	"time"

	"sluice/shared/sale"
)

// refunds are what is to be paid back.
type refunds interface {
	// RefundsOwed returns open ones first, then the oldest first.
	RefundsOwed(ctx context.Context, limit int) ([]sale.RefundOwed, error)
}

type refundBody struct {
	Event     string          `json:"event_id"` // of the payment
	Order     string          `json:"order_id"` // as the payment names it
	Amount    int64           `json:"amount"`   // minor units of Currency
	Currency  string          `json:"currency"`
	Reason    sale.OwedReason `json:"reason"`
	CreatedAt time.Time       `json:"created_at"`
	SettledAt *time.Time      `json:"settled_at"` // null while it is open
}

func refundBodyOf(w sale.RefundOwed) refundBody {
	body := refundBody{
		Event: w.EventID, Order: w.OrderID, Amount: w.AmountMinor, Currency: w.Currency, Reason: w.Reason, CreatedAt: w.CreatedAt,
	}
	if !w.SettledAt.IsZero() {
		body.SettledAt = &w.SettledAt
	}
	return body
}

// listRefunds is GET /admin/v1/refunds-owed. It has no further pages: whoever settles
// the open ones sees the next.
func (a *API) listRefunds(ctx context.Context, c call) {
	query, bad := c.query("limit")
	if bad != nil {
		bad.write(c.w)
		return
	}
	p, bad := page(query)
	if bad != nil {
		bad.write(c.w)
		return
	}
	rows, err := c.Refunds.RefundsOwed(ctx, p.Limit)
	if err != nil {
		a.fail(c, err)
		return
	}
	c.answer(http.StatusOK, struct {
		Refunds []refundBody `json:"refunds_owed"`
	}{each(rows, refundBodyOf)})
}
