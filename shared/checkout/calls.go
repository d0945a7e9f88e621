package checkout

import (
	"errors"
	"time"

	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// Refusals of a call.
var (
	ErrNoOrder     = errors.New("the order has locked no coupons")              // or another merchant's has
	ErrOrderLocked = errors.New("the order has locked other coupons or a cart") // than it asks for now
	ErrNotRedeemed = errors.New("the order has redeemed nothing")
	ErrRedeemed    = errors.New("the order has redeemed its coupons")
	ErrOtherRefund = errors.New("the refund's id is taken by another one")
)

// CouponError refuses a call for what one coupon is.
type CouponError struct {
	CouponID string
	Why      Why
}

func (e *CouponError) Error() string { return "coupon " + e.CouponID + ": " + string(e.Why) }

// Why says why a coupon cannot be had.
type Why string

// What coupons may be refused for.
const (
	WhyUnknown  Why = "unknown"  // there is none such, or it is somebody else's
	WhyLocked   Why = "locked"   // by another order
	WhyRedeemed Why = "redeemed" // by another order
	WhyExpired  Why = "expired"
	WhyVoid     Why = "void"
)

// NotApplicableError refuses a lock of coupons that do not all take something off.
type NotApplicableError struct {
	Rejected []pricing.Rejection
}

func (*NotApplicableError) Error() string { return "not all coupons can be used for this cart" }

// LineError refuses a refund for what it says of a line.
type LineError struct {
	LineID    string // "" for shipping
	LeftUnits int64  // that could still be refunded; 0 if the order has no such line
}

func (e *LineError) Error() string { return "line " + e.LineID + ": there is less to refund" }

// Order names an order of an order system.
type Order struct {
	UserID   string // whose coupons and order they are
	OrderID  string // 1 to 64 printable ASCII characters, of its own for this user
	Merchant string // whose key was shown; "" for the buyer
}

// Lock asks for coupons.
type Lock struct {
	Order
	CouponIDs []string     // each once, at least one; UUIDs in small letters
	Cart      pricing.Cart // without coupons and time
	Hold      time.Duration
}

// Locked is the answer: the cart's price with exactly these coupons.
type Locked struct {
	OrderID     string        `json:"order_id"`
	Quote       pricing.Quote `json:"quote"`
	LockedUntil time.Time     `json:"locked_until"`
	Repeated    bool          `json:"-"` // it is the answer of an earlier call; so in all answers
	Moved       Moved         `json:"-"`
}

// Moved are the events of a call, of all coupons that it has moved: none when it is repeated.
type Moved []coupon.Event

// Redeemed is what became of an order's coupons.
type Redeemed struct {
	OrderID    string           `json:"order_id"`
	Result     Result           `json:"result"`
	Redeemed   []RedeemedCoupon `json:"redeemed"` // ascending by id, like missing
	Missing    []MissingCoupon  `json:"missing"`
	TopUpMinor int64            `json:"top_up"` // what the buyer is still to pay, in minor units of Currency
	Currency   string           `json:"currency"`
	At         time.Time        `json:"redeemed_at"` // Postgres time
	Repeated   bool             `json:"-"`
	Moved      Moved            `json:"-"`
}

// Result is the outcome of Redeem.
type Result string

// Outcomes of Redeem.
const (
	ResultRedeemed Result = "redeemed"
	ResultRefund   Result = "refund" // the order is to be refunded, none of its coupons was redeemed
)

// RedeemedCoupon is one that the order has used.
type RedeemedCoupon struct {
	CouponID      string `json:"coupon_id"`
	DiscountMinor int64  `json:"discount"`
	Late          bool   `json:"late"` // its lock was gone
}

// MissingCoupon is one that the order had locked and that is gone.
type MissingCoupon struct {
	CouponID      string        `json:"coupon_id"`
	DiscountMinor int64         `json:"discount"` // that the quote has of it
	Policy        coupon.IfGone `json:"policy"`
}

// Released is the answer to Release.
type Released struct {
	OrderID  string   `json:"order_id"`
	Released []string `json:"released"` // the order's coupons, ascending: it holds none of them any more
	Repeated bool     `json:"-"`
	Moved    Moved    `json:"-"`
}

// Refund asks to take back a part of an order, or all of it.
type Refund struct {
	Order
	RefundID string
	Lines    []RefundLine
	Shipping bool
}

// RefundLine is so many units of a line.
type RefundLine struct {
	ID       string `json:"id"`
	Quantity int64  `json:"quantity"`
}

// Refunded is what goes back.
type Refunded struct {
	OrderID     string                `json:"order_id"`
	RefundID    string                `json:"refund_id"`
	AmountMinor int64                 `json:"amount"` // to the buyer, in minor units of Currency
	Currency    string                `json:"currency"`
	Lines       []RefundedLine        `json:"lines"`    // that were named, ascending by id
	Shipping    []RefundedParcel      `json:"shipping"` // ascending by merchant; empty unless it was named
	Bearers     []pricing.BearerShare `json:"bearers"`  // of the discounts that are reversed, ascending by party
	Returned    []string              `json:"returned"` // coupons that the buyer has again, ascending
	Full        bool                  `json:"full"`     // nothing is left to refund
	Repeated    bool                  `json:"-"`
	Moved       Moved                 `json:"-"`
}

// RefundedLine is what goes back of a line.
type RefundedLine struct {
	ID            string `json:"id"`
	Quantity      int64  `json:"quantity"` // units that were named
	AmountMinor   int64  `json:"amount"`
	DiscountMinor int64  `json:"discount"` // that is reversed
}

// RefundedParcel is what goes back of a parcel's fee.
type RefundedParcel struct {
	Merchant      string `json:"merchant"`
	AmountMinor   int64  `json:"amount"`
	DiscountMinor int64  `json:"discount"`
}
