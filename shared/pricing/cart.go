package pricing

import (
	"slices"
	"time"

	"sluice/shared/coupon"
)

// Cart is what somebody is about to pay for. Amounts are in minor units of Currency.
type Cart struct {
	Currency string    `json:"currency"`
	At       time.Time `json:"at"` // the moment that it is priced for
	Lines    []Line    `json:"lines"`
	Shipping []Parcel  `json:"shipping"`
	Coupons  []Coupon  `json:"coupons"` // that may be used
}

// Line is so many units of one article.
type Line struct {
	ID             string `json:"id"` // of its own in the cart
	Merchant       string `json:"merchant"`
	SKU            string `json:"sku"`
	Category       string `json:"category"`
	Quantity       int64  `json:"quantity"`   // at least 1
	UnitPriceMinor int64  `json:"unit_price"` // after any sale price
}

// Parcel is what one merchant sends, for a fee.
type Parcel struct {
	Merchant string `json:"merchant"` // of its own in the cart
	FeeMinor int64  `json:"fee"`
}

// Coupon is one that may be used.
type Coupon struct {
	ID string `json:"id"`
	coupon.Snapshot
}

// WithDefaults is the cart with what a request may leave out: its moment, and layer,
// bearers, currency and policy of its coupons. Bearers that are listed, but empty, stay so.
func (c Cart) WithDefaults(now time.Time) Cart {
	if c.At.IsZero() {
		c.At = now
	}
	c.Coupons = slices.Clone(c.Coupons)
	for i := range c.Coupons {
		c.Coupons[i].setDefaults(c.Currency)
	}
	return c
}

func (c *Coupon) setDefaults(currency string) {
	if c.Layer == "" {
		c.Layer = coupon.LayerPlatform
	}
	if c.Bearers == nil {
		c.Bearers = []coupon.Bearer{{Party: "platform", BPS: coupon.FullBPS}}
	}
	if c.Currency == "" {
		c.Currency = currency
	}
	if c.IfGone == "" {
		c.IfGone = coupon.GoneHonour
	}
}
