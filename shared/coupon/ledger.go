package coupon

import (
	"math/big"
	"time"
)

// LedgerSum is what a party bears of the discounts of one day. Amounts are in minor units
// of the currency; carts are as dear as order systems say, so a sum of them has no bound.
type LedgerSum struct {
	Day      time.Time // its begin, UTC
	Party    string
	Currency string
	Given    *big.Int // when orders were redeemed
	Honoured *big.Int // of that: for coupons that were gone
	Reversed *big.Int // when they were refunded; not below 0
}

// Net is what was given less what was reversed.
func (s LedgerSum) Net() *big.Int { return new(big.Int).Sub(s.Given, s.Reversed) }
