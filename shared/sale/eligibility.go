package sale

import (
	"slices"
	"time"
)

// Eligibility is who may attempt a sale. The zero value lets everybody in.
type Eligibility struct {
	MinAccountAge time.Duration `json:"min_account_age_ns"`
	MinPaidOrders int64         `json:"min_paid_orders"`
	Tags          []string      `json:"tags"`           // the buyer needs all of them
	HasAllowList  bool          `json:"has_allow_list"` // the reserve script checks it
}

// Claims are what a buyer's token says about the buyer, beside who they are.
type Claims struct {
	AccountCreatedAt time.Time // zero when the token does not say
	PaidOrders       int64
	Tags             []string
}

// Refusal is the reason why a buyer is not eligible; "" when they are.
type Refusal string

// Refusals, in the order they are looked for.
const (
	Eligible         Refusal = ""
	RefusalAge       Refusal = "account_too_young"
	RefusalOrders    Refusal = "too_few_paid_orders"
	RefusalTag       Refusal = "missing_tag"
	RefusalAllowList Refusal = "not_on_allow_list"
)

// Check judges c at now by everything but the allow list.
func (e Eligibility) Check(c Claims, now time.Time) Refusal {
	switch {
	case e.MinAccountAge > 0 && (c.AccountCreatedAt.IsZero() || now.Sub(c.AccountCreatedAt) < e.MinAccountAge):
		return RefusalAge
	case c.PaidOrders < e.MinPaidOrders:
		return RefusalOrders
	}
	for _, tag := range e.Tags {
		if !slices.Contains(c.Tags, tag) {
			return RefusalTag
		}
	}
	return Eligible
}
