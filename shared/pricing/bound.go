package pricing

// top is the highest amounts of those that it was shown, descending.
type top [maxGoods]int64

func (t *top) show(v int64) {
	for i := range t {
		if v > t[i] {
			t[i], v = v, t[i]
		}
	}
}

// off takes the n highest off the payable. It stops at zero, which no payable is below:
// so their sum, that may exceed int64, is never made.
func (t *top) off(payable int64, n int) int64 {
	for _, v := range t[:n] {
		payable = max(payable-v, 0)
	}
	return payable
}

// floor is an amount below which no set can bring the payable. In company each coupon
// takes less than alone, so a set takes less than one of its goods coupons and the most
// that others take which combine with that one.
func (b *basket) floor() int64 {
	floor := b.totalMinor
	if b.goods < len(b.usable) {
		floor -= b.usable[b.goods].alone // a set without goods coupons
	}
	for _, u := range b.usable[:b.goods] {
		floor = min(floor, b.floorWith(u))
	}
	return floor
}

func (b *basket) floorWith(u *usable) int64 {
	var goods, shipping top
	for i, v := range b.usable {
		switch {
		case !combines(u, v):
		case i < b.goods:
			goods.show(v.alone)
		default:
			shipping.show(v.alone)
		}
	}
	return shipping.off(goods.off(b.totalMinor-u.alone, maxGoods-1), 1)
}
