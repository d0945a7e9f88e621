package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sluice/shared/checkout"
	"sluice/shared/pricing"
	"sluice/shared/strictjson"
)

// Bounds of a lock.
const (
	maxTogether = 4 // coupons: three for goods, one for shipping
	defaultHold = 900
	maxHold     = 86_400 // seconds
)

// Checkout is what order systems do with coupons, see package checkout. Refusals are its
// errors; every other one is a fault.
type Checkout interface {
	LockCoupons(ctx context.Context, l checkout.Lock) (checkout.Locked, error)
	RedeemCoupons(ctx context.Context, o checkout.Order) (checkout.Redeemed, error)
	ReleaseCoupons(ctx context.Context, o checkout.Order) (checkout.Released, error)
	RefundCoupons(ctx context.Context, r checkout.Refund) (checkout.Refunded, error)
}

// lock is POST /v1/coupons/lock.
func (a *api) lock(w http.ResponseWriter, r *http.Request, who caller) {
	body, done, bad := a.readCart(w, r, who)
	defer done()
	var asked checkout.Lock
	if bad == nil {
		asked, bad = readLock(body, who)
	}
	if bad != nil {
		bad.write(w)
		return
	}
	locked, err := a.Checkout.LockCoupons(r.Context(), asked)
	locked.LockedUntil = locked.LockedUntil.UTC()
	a.answerCheckout(w, r, locked, err)
}

// redeem is POST /v1/coupons/redeem.
func (a *api) redeem(w http.ResponseWriter, r *http.Request, who caller) {
	order, bad := readOrder(w, r, who)
	if bad != nil {
		bad.write(w)
		return
	}
	redeemed, err := a.Checkout.RedeemCoupons(r.Context(), order)
	redeemed.At = redeemed.At.UTC()
	a.answerCheckout(w, r, redeemed, err)
}

// release is POST /v1/coupons/release.
func (a *api) release(w http.ResponseWriter, r *http.Request, who caller) {
	order, bad := readOrder(w, r, who)
	if bad != nil {
		bad.write(w)
		return
	}
	released, err := a.Checkout.ReleaseCoupons(r.Context(), order)
	a.answerCheckout(w, r, released, err)
}

// refund is POST /v1/coupons/refund. It may name every line of a cart, so its body may be
// as long.
func (a *api) refund(w http.ResponseWriter, r *http.Request, who caller) {
	body, done, bad := a.readCart(w, r, who)
	defer done()
	var asked checkout.Refund
	if bad == nil {
		asked, bad = readRefund(body, who)
	}
	if bad != nil {
		bad.write(w)
		return
	}
	refunded, err := a.Checkout.RefundCoupons(r.Context(), asked)
	a.answerCheckout(w, r, refunded, err)
}

// answerCheckout answers with what a call did, or why it was refused.
func (a *api) answerCheckout(w http.ResponseWriter, r *http.Request, done any, err error) {
	switch refused := refusal(err); {
	case err == nil:
		write(w, "application/json", http.StatusOK, done)
	case refused != nil:
		refused.write(w)
	default:
		a.fail(w, r, err)
	}
}

func readLock(body []byte, who caller) (checkout.Lock, *problem) {
	asked := struct {
		UserID    *string  `json:"user_id"`
		OrderID   string   `json:"order_id"`
		CouponIDs []string `json:"coupon_ids"`
		Cart      struct {
			Currency string           `json:"currency"`
			Lines    []pricing.Line   `json:"lines"`
			Shipping []pricing.Parcel `json:"shipping"`
		} `json:"cart"`
		Hold int64 `json:"hold_seconds"`
	}{Hold: defaultHold}
	if field, err := strictjson.Decode(body, &asked, "order_id", "coupon_ids", "cart"); err != nil {
		return checkout.Lock{}, invalidRequest(field, err.Error())
	}
	for i, id := range asked.CouponIDs {
		asked.CouponIDs[i] = strings.ToLower(id) // UUIDs may have capital letters
	}
	order, bad := who.order(asked.UserID, asked.OrderID)
	cart := pricing.Cart{Currency: asked.Cart.Currency, Lines: asked.Cart.Lines, Shipping: asked.Cart.Shipping}
	if bad == nil {
		bad = checkCouponIDs(asked.CouponIDs)
	}
	if bad == nil {
		bad = checkCart(cart, "cart.")
	}
	if bad == nil && (asked.Hold < 1 || asked.Hold > maxHold) {
		bad = invalidRequest("hold_seconds", fmt.Sprintf("hold_seconds must be 1 to %d.", maxHold))
	}
	return checkout.Lock{Order: order, CouponIDs: asked.CouponIDs, Cart: cart, Hold: time.Duration(asked.Hold) * time.Second}, bad
}

func checkCouponIDs(ids []string) *problem {
	if len(ids) < 1 || len(ids) > maxTogether {
		return invalidRequest("coupon_ids", fmt.Sprintf("coupon_ids must name 1 to %d coupons.", maxTogether))
	}
	seen := map[string]bool{}
	for i, id := range ids {
		field := fmt.Sprintf("coupon_ids[%d]", i)
		switch {
		case !isName(id):
			return notAName(field)
		case seen[id]:
			return invalidRequest(field, field+" is there before.")
		}
		seen[id] = true
	}
	return nil
}

// readOrder reads a body that names an order.
func readOrder(w http.ResponseWriter, r *http.Request, who caller) (checkout.Order, *problem) {
	body, bad := readBody(w, r)
	if bad != nil {
		return checkout.Order{}, bad
	}
	var asked struct {
		UserID  *string `json:"user_id"`
		OrderID string  `json:"order_id"`
	}
	if field, err := strictjson.Decode(body, &asked, "order_id"); err != nil {
		return checkout.Order{}, invalidRequest(field, err.Error())
	}
	return who.order(asked.UserID, asked.OrderID)
}

func readRefund(body []byte, who caller) (checkout.Refund, *problem) {
	var asked struct {
		UserID   *string               `json:"user_id"`
		OrderID  string                `json:"order_id"`
		RefundID string                `json:"refund_id"`
		Lines    []checkout.RefundLine `json:"lines"`
		Shipping bool                  `json:"shipping"`
	}
	if field, err := strictjson.Decode(body, &asked, "order_id", "refund_id"); err != nil {
		return checkout.Refund{}, invalidRequest(field, err.Error())
	}
	order, bad := who.order(asked.UserID, asked.OrderID)
	if bad == nil {
		bad = checkCode("refund_id", asked.RefundID)
	}
	if bad == nil {
		bad = checkRefundLines(asked.Lines, asked.Shipping)
	}
	return checkout.Refund{Order: order, RefundID: asked.RefundID, Lines: asked.Lines, Shipping: asked.Shipping}, bad
}

func checkRefundLines(lines []checkout.RefundLine, shipping bool) *problem {
	if len(lines) == 0 && !shipping {
		return invalidRequest("lines", "Name lines, or shipping: there is nothing to refund.")
	}
	seen := make(map[string]bool, len(lines))
	for i, l := range lines {
		field := fmt.Sprintf("lines[%d]", i)
		switch {
		case !isName(l.ID):
			return notAName(field + ".id")
		case seen[l.ID]:
			return invalidRequest(field+".id", field+".id is there before.")
		case l.Quantity < 1:
			return invalidRequest(field+".quantity", field+".quantity must be at least 1.")
		}
		seen[l.ID] = true
	}
	return nil
}
