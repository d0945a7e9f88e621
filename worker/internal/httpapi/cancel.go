package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"sluice/shared/sale"
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
	order, found, err := a.orders.Cancel(r.Context(), userID, r.PathValue("id"))
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
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return tooLarge()
	case err != nil:
		return invalidRequest("body", "the body could not be read to its end")
	case len(body) == 0:
		return nil
	}
	if field, err := checkEmptyObject(body); err != nil {
		return invalidRequest(field, err.Error())
	}
	return nil
}

var errNotEmptyObject = errors.New("the body must be empty or the JSON object {}")

// checkEmptyObject accepts {} with any white space. Else it names the field.
func checkEmptyObject(body []byte) (field string, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "body", errNotEmptyObject
	}
	t, err := d.Token()
	if name, ok := t.(string); ok && err == nil {
		name = shortened(name)
		return cmp.Or(name, "body"), fmt.Errorf("unknown field %q: a cancellation has no fields", name)
	}
	if err != nil || t != json.Delim('}') {
		return "body", errNotEmptyObject
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return "body", errors.New("the body has data behind the JSON object")
	}
	return "", nil
}

// maxFieldName is how much of a field's name an answer repeats, in characters.
const maxFieldName = 64

func shortened(name string) string {
	if runes := []rune(name); len(runes) > maxFieldName {
		return string(runes[:maxFieldName]) + "…"
	}
	return name
}
