package httpapi

import (
	"net/http"
	"time"

	"sluice/shared/sale"
)

// maxOrders is how many orders a list has, the newest first.
const maxOrders = 100

// orderBody is an order as its buyer sees it. The status words are a ticket's.
type orderBody struct {
	ID        string      `json:"id"`
	Sale      string      `json:"sale"`
	SKU       string      `json:"sku"`
	Status    sale.Status `json:"status"`
	Reason    sale.Reason `json:"reason,omitempty"` // of a rejected one
	Amount    int64       `json:"amount"`           // minor units of currency
	Currency  string      `json:"currency"`
	PayBy     *time.Time  `json:"pay_by"` // null when nothing is to be paid any more
	CreatedAt time.Time   `json:"created_at"`
	Replaces  string      `json:"replaces,omitempty"` // the expired order whose late payment this one took
}

func bodyOf(o sale.BuyerOrder) orderBody {
	body := orderBody{
		ID: o.RID, Sale: o.SaleID, SKU: o.SKU, Status: o.State.TicketStatus(), Reason: o.Reason,
		Amount: o.AmountMinor, Currency: o.Currency, CreatedAt: o.CreatedAt.UTC(),
		Replaces: o.Replaces,
	}
	if o.State == sale.OrderPending {
		payBy := o.PayBy.UTC()
		body.PayBy = &payBy
	}
	return body
}

func (a *api) listOrders(w http.ResponseWriter, r *http.Request, userID string) {
	orders, err := a.Orders.OrdersOf(r.Context(), userID, maxOrders)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	list := struct {
		Orders []orderBody `json:"orders"`
	}{make([]orderBody, len(orders))}
	for i, o := range orders {
		list.Orders[i] = bodyOf(o)
	}
	write(w, "application/json", http.StatusOK, list)
}

func (a *api) oneOrder(w http.ResponseWriter, r *http.Request, userID string) {
	order, found, err := a.Orders.OrderOf(r.Context(), userID, r.PathValue("id"))
	switch {
	case err != nil:
		a.fail(w, r, err)
	case !found:
		noSuchOrder(w)
	default:
		write(w, "application/json", http.StatusOK, bodyOf(order))
	}
}
