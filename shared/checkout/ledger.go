package checkout

import (
	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// LedgerEvent is why a party bears a part of a discount, or no longer does.
type LedgerEvent string

// Events of the ledger.
const (
	LedgerRedeem LedgerEvent = "redeem"
	LedgerHonour LedgerEvent = "honour" // the coupon was gone, its discount stands
	LedgerRefund LedgerEvent = "refund"
)

// LedgerRow is what a party bears of a coupon's discount on a line or a parcel.
type LedgerRow struct {
	CouponID    string
	Parcel      bool
	PartID      string // id of the line, merchant of the parcel
	Party       string
	AmountMinor int64 // never 0; below 0 for a refund
	Event       LedgerEvent
}

// Given are the rows of an order that was redeemed: the shares of all coupons whose
// discount it has got.
func (r Redeemed) Given(shares []pricing.Share) []LedgerRow {
	if r.Result == ResultRefund {
		return nil
	}
	events := make(map[string]LedgerEvent, len(r.Redeemed)+len(r.Missing))
	for _, c := range r.Redeemed {
		events[c.CouponID] = LedgerRedeem
	}
	for _, m := range r.Missing {
		if m.Policy == coupon.GoneHonour {
			events[m.CouponID] = LedgerHonour
		}
	}
	var sums ledgerSums
	for _, share := range shares {
		if event, given := events[share.CouponID]; given {
			sums.add(share, event, share.DiscountMinor)
		}
	}
	return sums.rows()
}

// ledgerSums adds up what each party bears of a coupon on a part, in the order in which
// they first come.
type ledgerSums struct {
	order []LedgerRow // of amount 0
	minor map[LedgerRow]int64
}

func (s *ledgerSums) add(share pricing.Share, event LedgerEvent, amountMinor int64) {
	row := LedgerRow{CouponID: share.CouponID, Parcel: share.Parcel, PartID: share.LineID, Party: share.Party, Event: event}
	if share.Parcel {
		row.PartID = share.Merchant
	}
	if s.minor == nil {
		s.minor = map[LedgerRow]int64{}
	}
	if _, known := s.minor[row]; !known {
		s.order = append(s.order, row)
	}
	s.minor[row] += amountMinor
}

// rows leaves zeros out.
func (s *ledgerSums) rows() []LedgerRow {
	rows := make([]LedgerRow, 0, len(s.order))
	for _, row := range s.order {
		if amount := s.minor[row]; amount != 0 {
			row.AmountMinor = amount
			rows = append(rows, row)
		}
	}
	return rows
}
