package httpapi

import "net/http"

// problem is an application/problem+json answer (RFC 9457).
type problem struct {
	Type   string `json:"type"` // /problems/NAME
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// write answers for this request alone.
func (p problem) write(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	write(w, "application/problem+json", p.Status, p)
}

func unauthenticated(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	problem{Type: "/problems/unauthenticated", Title: "Not authenticated", Status: http.StatusUnauthorized,
		Detail: "Send a valid token: Authorization: Bearer JWT."}.write(w)
}

func noSuchOrder(w http.ResponseWriter) {
	problem{Type: "/problems/no-such-order", Title: "No such order", Status: http.StatusNotFound,
		Detail: "This is not an order of yours."}.write(w)
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

func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	problem{Type: "/problems/unavailable", Title: "Temporarily unavailable", Status: http.StatusServiceUnavailable,
		Detail: "Your orders cannot be read just now. Nothing is lost; try again."}.write(w)
}
