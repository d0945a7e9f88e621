package checkout

import (
	"cmp"
	"maps"
	"slices"

	"sluice/shared/pricing"
)

// Done is what of an order was refunded so far. It is stored in this JSON.
type Done struct {
	Units    map[string]int64 `json:"units"` // by line
	Shipping bool             `json:"shipping"`
}

// Reversal is what a refund takes back of an order.
type Reversal struct {
	Refunded             // without the coupons that go back
	Ledger   []LedgerRow // what the parties bear less
	Done     Done        // then
}

// Reverse decides what a refund takes back of what was charged, beyond what was refunded
// before. *LineError for the first line by id of which less is left, and then for
// shipping; nothing is reversed then. Shipping that costs nothing is never refunded, and
// may be named with lines nevertheless.
func (r Refund) Reverse(charged pricing.Charged, currency string, before Done) (Reversal, error) {
	v := Reversal{
		Refunded: Refunded{
			OrderID: r.OrderID, RefundID: r.RefundID, Currency: currency,
			Lines: []RefundedLine{}, Shipping: []RefundedParcel{}, Bearers: []pricing.BearerShare{}, Returned: []string{},
		},
		Done: Done{Units: map[string]int64{}, Shipping: before.Shipping},
	}
	maps.Copy(v.Done.Units, before.Units)
	var sums ledgerSums
	if err := v.reverseLines(r.Lines, charged.Lines, &sums); err != nil {
		return Reversal{}, err
	}
	if err := v.reverseShipping(r, charged.Shipping, &sums); err != nil {
		return Reversal{}, err
	}
	v.Ledger = sums.rows()
	v.Bearers = bearersOf(v.Ledger)
	v.Full = v.Done.all(charged)
	return v, nil
}

func (v *Reversal) reverseLines(named []RefundLine, charged []pricing.ChargedLine, sums *ledgerSums) error {
	byID := make(map[string]pricing.ChargedLine, len(charged))
	for _, line := range charged {
		byID[line.ID] = line
	}
	for _, n := range sorted(named, byRefundLine) {
		line, before := byID[n.ID], v.Done.Units[n.ID]
		if left := line.Quantity - before; n.Quantity < 1 || n.Quantity > left {
			return &LineError{LineID: n.ID, LeftUnits: left}
		}
		v.Done.Units[n.ID] = before + n.Quantity
		moneyBefore, sharesBefore := line.Back(before)
		money, shares := line.Back(before + n.Quantity)
		back := RefundedLine{ID: n.ID, Quantity: n.Quantity, AmountMinor: money - moneyBefore, DiscountMinor: sums.take(shares, sharesBefore)}
		v.Lines = append(v.Lines, back)
		v.AmountMinor += back.AmountMinor
	}
	return nil
}

func (v *Reversal) reverseShipping(r Refund, charged []pricing.ChargedParcel, sums *ledgerSums) error {
	free := !slices.ContainsFunc(charged, func(p pricing.ChargedParcel) bool { return p.FeeMinor > 0 })
	switch {
	case !r.Shipping && len(r.Lines) > 0, free && len(r.Lines) > 0:
		return nil
	case !r.Shipping, free, v.Done.Shipping:
		return &LineError{}
	}
	v.Done.Shipping = true
	for _, parcel := range charged {
		money, shares := parcel.Back()
		v.Shipping = append(v.Shipping, RefundedParcel{Merchant: parcel.Merchant, AmountMinor: money, DiscountMinor: sums.take(shares, nil)})
		v.AmountMinor += money
	}
	return nil
}

// take adds what is reversed now beyond before, share by share, and returns the sum.
func (s *ledgerSums) take(now, before []pricing.Share) (discountMinor int64) {
	for i, share := range now {
		amount := share.DiscountMinor
		if before != nil {
			amount -= before[i].DiscountMinor
		}
		s.add(share, LedgerRefund, -amount)
		discountMinor += amount
	}
	return discountMinor
}

func bearersOf(rows []LedgerRow) []pricing.BearerShare {
	minor := map[string]int64{}
	for _, row := range rows {
		minor[row.Party] -= row.AmountMinor
	}
	bearers := make([]pricing.BearerShare, 0, len(minor))
	for party, amount := range minor {
		bearers = append(bearers, pricing.BearerShare{Party: party, DiscountMinor: amount})
	}
	slices.SortFunc(bearers, func(a, b pricing.BearerShare) int { return cmp.Compare(a.Party, b.Party) })
	return bearers
}

// all says whether nothing is left to refund.
func (d Done) all(charged pricing.Charged) bool {
	for _, line := range charged.Lines {
		if d.Units[line.ID] < line.Quantity {
			return false
		}
	}
	return d.Shipping || !slices.ContainsFunc(charged.Shipping, func(p pricing.ChargedParcel) bool { return p.FeeMinor > 0 })
}
