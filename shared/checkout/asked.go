package checkout

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"sluice/shared/pricing"
)

// Asked tells what a lock asks for: the set of coupons, the currency, the lines and the
// parcels in whatever order, and how long to hold. Whose order it is and who asks is no
// part of it. The texts must be UTF-8.
func (l Lock) Asked() [32]byte {
	return digest(struct {
		CouponIDs []string
		Currency  string
		Lines     []pricing.Line
		Shipping  []pricing.Parcel
		Hold      time.Duration
	}{
		sorted(l.CouponIDs, cmp.Compare[string]),
		l.Cart.Currency,
		sorted(l.Cart.Lines, byLine),
		sorted(l.Cart.Shipping, byMerchant),
		l.Hold,
	})
}

// Asked tells what a refund asks for: the lines and units in whatever order, and whether
// shipping is named.
func (r Refund) Asked() [32]byte {
	return digest(struct {
		Lines    []RefundLine
		Shipping bool
	}{sorted(r.Lines, byRefundLine), r.Shipping})
}

func byLine(a, b pricing.Line) int       { return cmp.Compare(a.ID, b.ID) }
func byMerchant(a, b pricing.Parcel) int { return cmp.Compare(a.Merchant, b.Merchant) }
func byRefundLine(a, b RefundLine) int {
	return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Quantity, b.Quantity))
}

// sorted leaves the list of the caller as it is.
func sorted[T any](list []T, compare func(a, b T) int) []T {
	return slices.SortedStableFunc(slices.Values(list), compare)
}

// digest is of values that JSON can always hold, and tells apart.
func digest(asked any) [32]byte {
	encoded, err := json.Marshal(asked)
	if err != nil {
		panic(err)
	}
	return sha256.Sum256(encoded)
}
