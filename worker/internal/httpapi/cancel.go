package httpapi

import (
	"errors"
	"io"
	"net/http"

	"sluice/shared/sale"
	"sluice/shared/strictjson"
)

// maxBody is how long a body may be, in bytes.
const maxBody = 8 << 10

// cancelOrder is POST /v1/orders/{id}/cancel. An order cancelled before is the same
// answer, so that a lost one may be asked for again.
func (a *api) cancelOrder(w http.ResponseWriter, r *http.Request, userID string) {
	if bad := readEmptyObject(w, r); bad != nil {
		bad.write(w)
		return
	}
	order, found, err := a.Orders.Cancel(r.Context(), userID, r.PathValue("id"))
	switch {
	case err != nil:
		a.fail(w, r, err)
	case !found:
		noSuchOrder(w)
	case order.State == sale.OrderCancelled:
		write(w, "application/json", http.StatusOK, bodyOf(order))
	case order.State == sale.OrderPaid:
		alreadyPaid(w)
	default:
		orderClosed(w, order.State.TicketStatus())
	}
}

// readEmptyObject reads a body that must be empty or {}.
func readEmptyObject(w http.ResponseWriter, r *http.Request) *problem {
	body, bad := readBody(w, r)
	if bad != nil {
		return bad
	}
	if field, err := strictjson.EmptyObject(body, "a cancellation has no fields"); err != nil {
		return invalidRequest(field, err.Error())
	}
	return nil
}

// readBody reads a body to its end.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	return body, unread(err, "8 KiB")
}

// unread says why a body was not read, of which so much may be.
func unread(err error, most string) *problem {
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return tooLarge(most)
	case err != nil:
		return invalidRequest("body", "the body could not be read to its end")
	}
	return nil
}
