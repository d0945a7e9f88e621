package checkout

import (
	"time"

	"sluice/shared/coupon"
)

// State is what an order has done with its coupons.
type State string

// States of an order. One whose lock's deadline has passed stays locked until it asks for
// something: its coupons go back without it.
const (
	StateLocked   State = "locked"
	StateReleased State = "released"
	StateRedeemed State = "redeemed"
	StateRefused  State = "refused"
)

// Standing is how an order stands when a call meets it. The one that has never locked
// stands as released.
type Standing struct {
	State       State
	Merchant    string   // whose key has locked; "" for the buyer
	Asked       [32]byte // of the lock that holds
	LockedUntil time.Time
}

// Sees says whether the order is shown to who asks: what a merchant's key has locked is
// that merchant's alone, or the buyer could take back a discount's coupon, or its refund,
// behind the shop's back. What the buyer has locked, a merchant redeems.
func (o Order) Sees(s Standing) bool { return s.Merchant == "" || s.Merchant == o.Merchant }

// Owner is the merchant that an order is of once this one has locked or redeemed it: a
// merchant's order stays that merchant's, and the buyer cannot refund what a shop was paid.
func (o Order) Owner(s Standing) string {
	if s.Merchant != "" {
		return s.Merchant
	}
	return o.Merchant
}

// Lock says whether the order may lock. repeated means that it has, exactly as it asks
// now, and is answered what it was answered first: not once its redeem has failed, for
// it has no lock then. ErrOrderLocked.
func (s Standing) Lock(l Lock, now time.Time) (repeated bool, err error) {
	if !l.Sees(s) {
		return false, ErrOrderLocked
	}
	lapsed := s.State == StateLocked && !now.Before(s.LockedUntil)
	if s.State == StateReleased || lapsed {
		return false, nil
	}
	if s.State == StateRefused || s.Asked != l.Asked() {
		return false, ErrOrderLocked
	}
	return true, nil
}

// Redeem says whether the order may redeem. It may after its lock is gone too: what is
// still free is redeemed late. repeated means that it has. ErrNoOrder.
func (s Standing) Redeem(o Order) (repeated bool, err error) {
	if !o.Sees(s) {
		return false, ErrNoOrder
	}
	return s.State == StateRedeemed || s.State == StateRefused, nil
}

// IfGone is what becomes of a gone coupon of the order, by the coupon's terms. Honour is
// for a lock that time has taken: who gave the coupon up, for another order to use it, has
// the buyer pay for it. Else one coupon would be worth as many discounts as orders were
// parked with it.
func (s Standing) IfGone(terms coupon.IfGone) coupon.IfGone {
	if s.State == StateReleased && terms == coupon.GoneHonour {
		return coupon.GoneTopUp
	}
	return terms
}

// Release says whether the order may let go of its coupons. repeated means that it holds
// none. ErrNoOrder, ErrRedeemed.
func (s Standing) Release(o Order) (repeated bool, err error) {
	switch {
	case !o.Sees(s):
		return false, ErrNoOrder
	case s.State == StateRedeemed:
		return false, ErrRedeemed
	}
	return s.State != StateLocked, nil
}

// Refund says whether the order has something to refund. ErrNoOrder, ErrNotRedeemed.
func (s Standing) Refund(o Order) error {
	switch {
	case !o.Sees(s):
		return ErrNoOrder
	case s.State != StateRedeemed:
		return ErrNotRedeemed
	}
	return nil
}
