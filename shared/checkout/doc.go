// Package checkout is what order systems do with coupons: lock them for an order,
// redeem them once it is paid, release them when it is not, and take back what is
// refunded. It holds the calls, their answers and the decisions that need no store.
//
// An order:
//
//	(none) ── lock ──► locked ──┬─ redeem ──► redeemed ── refund ──► redeemed (less)
//	                   ▲    │   └─ redeem ──► refused: a coupon is gone and its terms say refund
//	              lock │    │ release
//	                   │    ▼
//	                  released ─── redeem ──► as from locked, with the coupons that are free
//
// A lock's deadline is about its coupons alone: they lapse, and are free for others. The
// order stays locked, and may redeem late what is still free, or lock once more.
package checkout
