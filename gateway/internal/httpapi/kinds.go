package httpapi

import "github.com/valyala/fasthttp"

// kind is a kind of problem: what its type and its status are. Its title is in the
// words of each language.
type kind uint8

// The kinds of problem.
const (
	kindInvalidRequest kind = iota
	kindUnauthenticated
	kindNotEligible
	kindNotFound
	kindNoSuchSale
	kindNoSuchTicket
	kindMethodNotAllowed
	kindRequestTimeout
	kindSoldOut
	kindClosed
	kindLimitReached
	kindNotOpen
	kindRejected
	kindRetired
	kindTooLarge
	kindTooManyRequests
	kindBusy
	kindPaused
	kindUnavailable
	kinds = iota // how many
)

// wire is what clients know a kind by, whatever they speak.
var wire = [kinds]struct {
	name   string // the type is /problems/NAME
	status int
}{
	kindInvalidRequest:   {"invalid-request", fasthttp.StatusBadRequest},
	kindUnauthenticated:  {"unauthenticated", fasthttp.StatusUnauthorized},
	kindNotEligible:      {"not-eligible", fasthttp.StatusForbidden},
	kindNotFound:         {"not-found", fasthttp.StatusNotFound},
	kindNoSuchSale:       {"no-such-sale", fasthttp.StatusNotFound},
	kindNoSuchTicket:     {"no-such-ticket", fasthttp.StatusNotFound},
	kindMethodNotAllowed: {"method-not-allowed", fasthttp.StatusMethodNotAllowed},
	kindRequestTimeout:   {"request-timeout", fasthttp.StatusRequestTimeout},
	kindSoldOut:          {"sold-out", fasthttp.StatusConflict},
	kindClosed:           {"closed", fasthttp.StatusConflict},
	kindLimitReached:     {"limit-reached", fasthttp.StatusConflict},
	kindNotOpen:          {"not-open", fasthttp.StatusConflict},
	kindRejected:         {"rejected", fasthttp.StatusConflict},
	kindRetired:          {"retired", fasthttp.StatusGone},
	kindTooLarge:         {"too-large", fasthttp.StatusRequestEntityTooLarge},
	kindTooManyRequests:  {"too-many-requests", fasthttp.StatusTooManyRequests},
	kindBusy:             {"busy", fasthttp.StatusServiceUnavailable},
	kindPaused:           {"paused", fasthttp.StatusServiceUnavailable},
	kindUnavailable:      {"unavailable", fasthttp.StatusServiceUnavailable},
}
