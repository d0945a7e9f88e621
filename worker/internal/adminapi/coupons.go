package adminapi

import (
	"context"
	"errors"
	"net/http"
	"time"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/sale"
)

// coupons are those that users hold.
type coupons interface {
	// VoidCoupon takes back one that is issued, for good, and records who did;
	// *checkout.CouponError if there is none such or it is in another state.
	VoidCoupon(ctx context.Context, by sale.Actor, id string) (coupon.Instance, error)
}

type voidedBody struct {
	ID        string       `json:"id"`
	Template  string       `json:"template"`
	User      string       `json:"user_id"`
	State     coupon.State `json:"state"`
	ChangedAt time.Time    `json:"changed_at"`
}

// voidCoupon is POST /admin/v1/coupons/{id}/void.
func (a *API) voidCoupon(ctx context.Context, c call) {
	if bad := c.emptyBody(); bad != nil {
		bad.write(c.w)
		return
	}
	voided, err := c.Coupons.VoidCoupon(ctx, c.by, c.r.PathValue("id"))
	var refused *checkout.CouponError
	switch {
	case errors.As(err, &refused) && refused.Why == checkout.WhyUnknown:
		noSuchCoupon.write(c.w)
	case errors.As(err, &refused):
		couponNotIssued(refused.Why).write(c.w)
	case err != nil:
		a.fail(c, err)
	default:
		a.log.Info("coupon voided by an operator", "coupon", voided.ID, "template", voided.TemplateID, "operator", c.by.Operator)
		c.answer(http.StatusOK, voidedBody{voided.ID, voided.TemplateID, voided.UserID, voided.State, voided.ChangedAt.UTC()})
	}
}
