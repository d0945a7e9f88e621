package httpapi

import (
	"errors"
	"fmt"
	"net/http"

	"sluice/shared/checkout"
	"sluice/shared/pricing"
)

// refusal is the answer to a call that was refused; nil if the error is a fault, or nil.
func refusal(err error) *problem {
	var of *checkout.CouponError
	var cart *checkout.NotApplicableError
	var line *checkout.LineError
	var invalid *pricing.InvalidError
	switch {
	case errors.Is(err, checkout.ErrNoOrder):
		return &problem{Type: "/problems/no-such-order", Title: "No such order", Status: http.StatusNotFound,
			Detail: "No coupons were locked for this order, or not by you."}
	case errors.Is(err, checkout.ErrOrderLocked):
		return conflict("order-locked", "Order is locked", "An order of this user's has this id and has locked coupons for something else: release them first, ask for the same, or use an id of your own.")
	case errors.Is(err, checkout.ErrRedeemed):
		return conflict("order-redeemed", "Order is redeemed", "The order has redeemed its coupons: refund it instead.")
	case errors.Is(err, checkout.ErrNotRedeemed):
		return conflict("not-redeemed", "Not redeemed", "The order has redeemed no coupons: there is nothing to refund.")
	case errors.Is(err, checkout.ErrOtherRefund):
		return conflict("refund-conflict", "Refund conflict", "This refund_id was used for another refund of the order.")
	case errors.As(err, &of):
		return couponRefused(of)
	case errors.As(err, &cart):
		p := conflict("coupon-not-applicable", "Coupons cannot be used", "Not all of these coupons can be used for this cart, together.")
		p.Rejected = cart.Rejected
		return p
	case errors.As(err, &line):
		return nothingToRefund(line)
	case errors.As(err, &invalid):
		return invalidCart(err, "cart.")
	}
	return nil
}

func conflict(name, title, detail string) *problem {
	return &problem{Type: "/problems/" + name, Title: title, Status: http.StatusConflict, Detail: detail}
}

// couponRefused does not say whose order has the coupon.
func couponRefused(of *checkout.CouponError) *problem {
	var p *problem
	switch of.Why {
	case checkout.WhyUnknown:
		p = &problem{Type: "/problems/no-such-coupon", Title: "No such coupon", Status: http.StatusNotFound, Detail: "This user has no such coupon."}
	case checkout.WhyLocked:
		p = conflict("coupon-locked", "Coupon is locked", "Another order has locked the coupon.")
	case checkout.WhyRedeemed:
		p = conflict("coupon-redeemed", "Coupon is redeemed", "Another order has redeemed the coupon.")
	case checkout.WhyExpired:
		p = conflict("coupon-expired", "Coupon has expired", "The coupon is not valid any more.")
	case checkout.WhyVoid:
		p = conflict("coupon-void", "Coupon is void", "The coupon was made void.")
	default:
		return nil
	}
	p.CouponID = of.CouponID
	return p
}

func nothingToRefund(line *checkout.LineError) *problem {
	p := conflict("nothing-to-refund", "Nothing to refund", fmt.Sprintf("Of line %s, %d units are left to be refunded.", line.LineID, line.LeftUnits))
	if line.LineID == "" {
		p.Detail = "Shipping costs nothing, or was refunded."
		return p
	}
	p.LineID, p.Left = line.LineID, &line.LeftUnits
	return p
}

// invalidCart tells what of a cart, found at a place in the body, cannot be priced.
func invalidCart(err error, at string) *problem {
	var invalid *pricing.InvalidError
	if !errors.As(err, &invalid) {
		return invalidRequest("body", err.Error())
	}
	field := at + invalid.Field
	return invalidRequest(field, field+": "+invalid.Detail+".")
}

// busyPricing is overload, of pricing or of memory, answered at once.
func busyPricing() *problem {
	return busy("Too many carts are being priced, or too many of yours. Try again.")
}

func busy(detail string) *problem {
	return &problem{Type: "/problems/busy", Title: "Busy", Status: http.StatusServiceUnavailable, Detail: detail, retryAfter: "1"}
}

func unauthenticatedCaller(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	problem{Type: "/problems/unauthenticated", Title: "Not authenticated", Status: http.StatusUnauthorized,
		Detail: "Send a valid token or a merchant's API key: Authorization: Bearer JWT, or sk_ID_SECRET."}.write(w)
}
