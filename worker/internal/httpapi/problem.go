package httpapi

import (
	"net/http"

	"sluice/shared/auth"
	"sluice/shared/pricing"
	"sluice/shared/sale"
)

// problem is an application/problem+json answer (RFC 9457).
type problem struct {
	Type   string `json:"type"` // /problems/NAME
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	Field       string              `json:"field,omitempty"`        // of an invalid request: what is wrong in it
	OrderStatus sale.Status         `json:"order_status,omitempty"` // of an order that cannot be cancelled any more
	CouponID    string              `json:"coupon_id,omitempty"`    // that cannot be had
	Rejected    []pricing.Rejection `json:"rejected,omitempty"`     // coupons that cannot be used for the cart
	LineID      string              `json:"line_id,omitempty"`      // of a refund; absent for shipping
	Left        *int64              `json:"left,omitempty"`         // units that could be refunded

	retryAfter string // seconds; "" when it would not help to ask again
}

// write answers for this request alone.
func (p problem) write(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	if p.retryAfter != "" {
		w.Header().Set("Retry-After", p.retryAfter)
	}
	write(w, "application/problem+json", p.Status, p)
}

func unauthenticated(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	problem{Type: "/problems/unauthenticated", Title: "Not authenticated", Status: http.StatusUnauthorized,
		Detail: "Send a valid token: Authorization: Bearer JWT."}.write(w)
}

func badSignature(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", auth.SignatureHeader)
	problem{Type: "/problems/unauthenticated", Title: "Not authenticated", Status: http.StatusUnauthorized,
		Detail: "Sign the event: Sluice-Signature: t=UNIX,v1=HEX, the HMAC-SHA256 of t, a dot and the body, within 300 s."}.write(w)
}

// notStored asks for the event again: it may be stored all the same, which does no harm.
func notStored(w http.ResponseWriter) {
	unavailable("The event could not be stored just now. Send it again.").write(w)
}

func noSuchOrder(w http.ResponseWriter) {
	problem{Type: "/problems/no-such-order", Title: "No such order", Status: http.StatusNotFound,
		Detail: "This is not an order of yours."}.write(w)
}

func alreadyPaid(w http.ResponseWriter) {
	problem{Type: "/problems/already-paid", Title: "Already paid", Status: http.StatusConflict,
		Detail: "The order is paid and cannot be cancelled."}.write(w)
}

// orderClosed answers for an order that was closed otherwise: expired, rejected or
// refunded.
func orderClosed(w http.ResponseWriter, status sale.Status) {
	problem{Type: "/problems/order-closed", Title: "Order is closed", Status: http.StatusConflict,
		Detail: "The order is " + string(status) + ": there is nothing to cancel any more.", OrderStatus: status}.write(w)
}

func invalidRequest(field, detail string) *problem {
	return &problem{Type: "/problems/invalid-request", Title: "Invalid request", Status: http.StatusBadRequest,
		Detail: detail, Field: field}
}

func tooLarge(most string) *problem {
	return &problem{Type: "/problems/too-large", Title: "Too large", Status: http.StatusRequestEntityTooLarge,
		Detail: "A body may have " + most + "."}
}

func notFound(w http.ResponseWriter) {
	problem{Type: "/problems/not-found", Title: "Nothing is here", Status: http.StatusNotFound,
		Detail: "The path is not part of this API; GET /v1/orders lists your orders."}.write(w)
}

func methodNotAllowed(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	problem{Type: "/problems/method-not-allowed", Title: "Method not allowed", Status: http.StatusMethodNotAllowed,
		Detail: "This path takes other methods; see the Allow header."}.write(w)
}

func unavailable(detail string) *problem {
	return &problem{Type: "/problems/unavailable", Title: "Temporarily unavailable", Status: http.StatusServiceUnavailable,
		Detail: detail, retryAfter: "1"}
}
