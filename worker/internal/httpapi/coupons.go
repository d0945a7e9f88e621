package httpapi

import (
	"context"
	"net/http"
	"time"

	"sluice/shared/coupon"
)

// maxCoupons is how many coupons a list has, the newest first.
const maxCoupons = 1_000

// Coupons are the coupons that buyers hold.
type Coupons interface {
	// CouponsOf returns the newest coupons of a user, whatever their state.
	CouponsOf(ctx context.Context, userID string, limit int) ([]coupon.Instance, error)
	// UsableCoupons returns those that can be locked, and the store's time. Of too many
	// it returns those that end first after the moment at; the zero one is now.
	UsableCoupons(ctx context.Context, userID string, at time.Time) (usable []coupon.Instance, now time.Time, err error)
}

// couponBody is a coupon as whoever holds it sees it.
type couponBody struct {
	ID       string       `json:"id"`
	Template string       `json:"template"`
	State    coupon.State `json:"state"`
	coupon.Snapshot
	OrderID     string    `json:"order_id,omitempty"`    // that has locked or redeemed it; merchants are not told
	LockedUntil time.Time `json:"locked_until,omitzero"` // of a locked one
	IssuedAt    time.Time `json:"issued_at"`
	ChangedAt   time.Time `json:"changed_at"`
}

// bodyFor is what the caller sees of a coupon: an order of the buyer's with one merchant
// is no other merchant's business.
func (c caller) bodyFor(i coupon.Instance) couponBody {
	body := couponBody{
		ID: i.ID, Template: i.TemplateID, State: i.State, Snapshot: i.Snapshot, OrderID: i.OrderID,
		LockedUntil: i.LockedUntil.UTC(), IssuedAt: i.IssuedAt.UTC(), ChangedAt: i.ChangedAt.UTC(),
	}
	body.StartsAt, body.EndsAt = body.StartsAt.UTC(), body.EndsAt.UTC()
	if c.merchant != "" {
		body.OrderID = ""
	}
	return body
}

// listCoupons is GET /v1/coupons.
func (a *api) listCoupons(w http.ResponseWriter, r *http.Request, who caller) {
	userID, bad := who.aboutQuery(r)
	if bad != nil {
		bad.write(w)
		return
	}
	coupons, err := a.Coupons.CouponsOf(r.Context(), userID, maxCoupons)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	list := struct {
		Coupons []couponBody `json:"coupons"`
	}{make([]couponBody, len(coupons))}
	for i, c := range coupons {
		list.Coupons[i] = who.bodyFor(c)
	}
	write(w, "application/json", http.StatusOK, list)
}

// aboutQuery is about, of a user that the query names.
func (c caller) aboutQuery(r *http.Request) (userID string, bad *problem) {
	switch named := r.URL.Query()["user_id"]; len(named) {
	case 0:
		return c.about(nil)
	case 1:
		return c.about(&named[0])
	default:
		return "", invalidRequest("user_id", "The query has user_id twice.")
	}
}
