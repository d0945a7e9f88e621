package coupon

// Kind says how a coupon's discount is computed.
type Kind string

// Kinds of coupon.
const (
	KindAmount       Kind = "amount"        // 满减 with a threshold, 直减 without
	KindPercent      Kind = "percent"       // 折扣: the value is the percentage paid
	KindFreeShipping Kind = "free_shipping" // 包邮
)

// Template is a rule by which coupons are given out. All of it that is not counted or
// computed with is in Terms.
type Template struct {
	ID             string // as a sale's
	Kind           Kind
	Value          int64 // minor units of an amount; the percentage paid, 1 to 100; 0 of free shipping
	MinAmountCents int64 // threshold in minor units, 0 for none
	Total          int64 // coupons there are
	Issued         int64 // coupons given out, 0 to Total
}
