package checkout

import (
	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// Refused is what a call answers for a coupon that was refused for what it is: nil if it
// was not, *NotApplicableError if it is for later, else *CouponError.
func Refused(couponID string, r coupon.Refusal) error {
	switch r {
	case "":
		return nil
	case coupon.RefusedNotStarted:
		return &NotApplicableError{Rejected: []pricing.Rejection{{ID: couponID, Reason: pricing.ReasonNotStarted}}}
	case coupon.RefusedRedeemed:
		return &CouponError{CouponID: couponID, Why: WhyRedeemed}
	case coupon.RefusedExpired:
		return &CouponError{CouponID: couponID, Why: WhyExpired}
	case coupon.RefusedVoid:
		return &CouponError{CouponID: couponID, Why: WhyVoid}
	default: // an order has it
		return &CouponError{CouponID: couponID, Why: WhyLocked}
	}
}
