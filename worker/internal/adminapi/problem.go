package adminapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"sluice/shared/checkout"
	"sluice/shared/sale"
)

// problem is an application/problem+json answer (RFC 9457).
type problem struct {
	Type   string `json:"type"` // /problems/NAME
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"` // what to do about it

	Field  string           `json:"field,omitempty"`  // of an invalid request: what is wrong in it
	Unsold *int64           `json:"unsold,omitempty"` // of a refused decrease: units that could have gone
	State  sale.LetterState `json:"state,omitempty"`  // of a dead letter that is settled otherwise
}

func (p problem) write(w http.ResponseWriter) {
	if p.Status == http.StatusServiceUnavailable && p.Type != noToken.Type {
		w.Header().Set("Retry-After", "1")
	}
	writeBody(w, "application/problem+json", p.Status, p)
}

// answer answers with a body.
func (c call) answer(status int, body any) { writeBody(c.w, "application/json", status, body) }

// writeBody writes a body that can always be encoded. An error means that the client
// has gone.
func writeBody(w http.ResponseWriter, contentType string, status int, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func newProblem(name string, status int, title, detail string) problem {
	return problem{Type: "/problems/" + name, Title: title, Status: status, Detail: detail}
}

// Problems that are the same for everybody.
var (
	noToken = newProblem("no-admin-token", http.StatusServiceUnavailable, "The admin API is off",
		"This worker has no admin token: start it with -admin-token (SLUICE_ADMIN_TOKEN).")
	unauthenticated = newProblem("unauthenticated", http.StatusUnauthorized, "Not authenticated",
		"Send the admin token: Authorization: Bearer TOKEN.")
	notFound = newProblem("not-found", http.StatusNotFound, "Nothing is here",
		"The path is not part of this API; GET /openapi.yaml describes it.")
	methodNotAllowed = newProblem("method-not-allowed", http.StatusMethodNotAllowed, "Method not allowed",
		"This path takes other methods; see the Allow header.")
	unavailable = newProblem("unavailable", http.StatusServiceUnavailable, "Temporarily unavailable",
		"The worker is starting, or a store does not answer. Every call may be repeated.")
	tooLarge = newProblem("too-large", http.StatusRequestEntityTooLarge, "Too large", "A body may have 8 KiB.")

	noSuchSale = newProblem("no-such-sale", http.StatusNotFound, "No such sale",
		"GET /admin/v1/sales lists the sales.")
	retired = newProblem("retired", http.StatusGone, "Sale is retired",
		"The sale is over for good and its state in Redis is gone; nothing can be changed any more.")
	notLoaded = newProblem("not-loaded", http.StatusConflict, "Sale is not loaded",
		"The sale was never loaded: change its sales file, then run warmup apply and warmup load.")
	rebuilding = newProblem("rebuilding", http.StatusServiceUnavailable, "Sale is being rebuilt",
		"The sale's state in Redis is being made anew; try again.")
	totalLimit = newProblem("total-limit", http.StatusConflict, "Too many units",
		fmt.Sprintf("A sale may have %d units; add fewer.", sale.MaxTotal))
	adjustmentConflict = newProblem("adjustment-conflict", http.StatusConflict, "Another adjustment has this id",
		"The adjustment_id was used before, for another sale or another delta; that one stands. Use a new id for a new adjustment.")
	noSuchTemplate = newProblem("no-such-template", http.StatusNotFound, "No such template",
		"GET /admin/v1/templates lists the templates.")
	templateExists = newProblem("template-exists", http.StatusConflict, "Another template has this id",
		"A template of this id is there, with another rule or not as this copy; that one stands. Change it by warmup apply, or use a new id.")
	templateTotal = newProblem("template-total", http.StatusConflict, "More units than coupons",
		"The sale's template does not have that many coupons. Raise the template's total first: change the sales file, then run warmup apply.")
	templateOffShelf = newProblem("template-off-shelf", http.StatusConflict, "The template is off the shelf",
		"Nobody may claim coupons of this sale's template any more. Copy the template, and apply a sale that gives out the copy.")
	noSuchCoupon = newProblem("no-such-coupon", http.StatusNotFound, "No such coupon",
		"GET /v1/coupons with a merchant's key and user_id lists a user's coupons.")
	noSuchLetter = newProblem("no-such-dead-letter", http.StatusNotFound, "No such dead letter",
		"GET /admin/v1/dead-letters lists the dead letters.")
	decided = newProblem("decided", http.StatusConflict, "Already decided",
		"Every reservation in it has its outcome, which stands: there is nothing to retry. Drop it once you have read it.")
	unreadable = newProblem("unreadable", http.StatusConflict, "Still unreadable",
		"This version of the worker cannot read the hand-over either. Its tickets were handed over again by themselves; drop it once you have read it.")
)

func problemOf(err error) *problem {
	for refusal, p := range map[error]problem{
		ErrNoSale: noSuchSale, ErrRetired: retired, ErrNotLoaded: notLoaded, ErrRebuilding: rebuilding, ErrTotalLimit: totalLimit,
		ErrOtherAdjustment: adjustmentConflict, ErrNoLetter: noSuchLetter, ErrNoTemplate: noSuchTemplate,
		ErrTemplateExists: templateExists, ErrTemplateTotal: templateTotal, ErrOffShelf: templateOffShelf, ErrUnreadable: unreadable,
	} {
		if errors.Is(err, refusal) {
			return &p
		}
	}
	return nil
}

func invalidRequest(field, detail string) *problem {
	p := newProblem("invalid-request", http.StatusBadRequest, "Invalid request", detail)
	p.Field = field
	return &p
}

func unsold(units int64) problem {
	p := newProblem("unsold", http.StatusConflict, "Not that many are unsold",
		fmt.Sprintf("%d units were unsold when this was decided; nothing was taken. Take fewer, under a new adjustment_id.", units))
	p.Unsold = &units
	return p
}

func couponNotIssued(is checkout.Why) problem {
	return newProblem("coupon-not-issued", http.StatusConflict, "The coupon cannot be voided",
		"The coupon is "+string(is)+", and stays so. One that an order has locked can be voided once the order has released it.")
}

func letterSettled(state sale.LetterState) problem {
	p := newProblem("dead-letter-settled", http.StatusConflict, "The dead letter is settled",
		"The dead letter was "+string(state)+" before, which stands.")
	p.State = state
	return p
}
