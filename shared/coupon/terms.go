package coupon

import "time"

// Layer is when a coupon is applied: merchants' before the platform's.
type Layer string

// Layers, in the order in which they are applied.
const (
	LayerMerchant Layer = "merchant"
	LayerPlatform Layer = "platform"
)

// IfGone says what becomes of an order that was paid after its coupon had gone.
type IfGone string

// Policies for coupons that are gone after payment.
const (
	GoneHonour IfGone = "honour" // the discount stands
	GoneTopUp  IfGone = "top_up" // the buyer pays the discount
	GoneRefund IfGone = "refund" // the order is refunded, and no coupon of it redeemed
)

// Scope is the lines that a coupon is about: those that match all three lists. An
// empty list matches any line.
type Scope struct {
	Merchants  []string `json:"merchants"`
	SKUs       []string `json:"skus"`
	Categories []string `json:"categories"`
}

// FullBPS is the whole of a discount.
const FullBPS = 10_000

// Bearer pays a part of a discount.
type Bearer struct {
	Party string `json:"party"`
	BPS   int64  `json:"bps"` // parts of FullBPS
}

// Terms are what a template says beside its count and its value.
type Terms struct {
	CapMinor           int64     `json:"cap"` // highest discount in minor units, 0 for none
	Scope              Scope     `json:"scope"`
	Layer              Layer     `json:"layer"`
	Group              string    `json:"group"`
	StackWith          []string  `json:"stack_with"` // groups that it combines with
	Bearers            []Bearer  `json:"bearers"`    // in the order in which they pay
	Currency           string    `json:"currency"`
	StartsAt           time.Time `json:"starts_at,omitzero"` // zero for no bound
	EndsAt             time.Time `json:"ends_at,omitzero"`   // not valid from then on; zero for no bound
	ReturnOnFullRefund bool      `json:"return_on_full_refund"`
	IfGone             IfGone    `json:"if_gone_after_payment"`
}

// Snapshot is what a coupon is worth, whatever becomes of its template: taken when it
// is claimed, and stored in this JSON.
type Snapshot struct {
	Kind           Kind  `json:"kind"`
	Value          int64 `json:"value"`
	MinAmountCents int64 `json:"min_amount"`
	Terms
}

// Started says whether the terms are valid already, or were.
func (t Terms) Started(now time.Time) bool { return !now.Before(t.StartsAt) }

// Ended says whether the terms are valid no more.
func (t Terms) Ended(now time.Time) bool { return !t.EndsAt.IsZero() && !now.Before(t.EndsAt) }
