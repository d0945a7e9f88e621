// Package pgstore keeps the catalogue, the stock and the orders in Postgres,
// the only arbiter of a sale: what Redis and JetStream claim becomes true here
// or is rejected here.
//
// An order row:
//
//	           ┌─► pending ──► paid ──► refunded
//	Order() ───┤      ├──Expire()──► expired   + a releases row, give 1
//	           │      └──Cancel()──► cancelled + a releases row, give 1
//	           └─► rejected (duplicate, surplus) + a releases row, give 0
//	Reject() ────► rejected (invalid) + a releases row, give 1 + a dead letter
//
// One of a sale of coupons is paid from birth, with a coupon of the same id, and
// stays so: see claims.go.
//
// A coupon's row, once it is claimed:
//
//	issued ◄──ReleaseCoupons(), LapseLocks()──┐
//	 │  │ └───────────LockCoupons()───────► locked ──RedeemCoupons()──► redeemed
//	 │  └──ExpireCoupons()──► expired                                      │
//	 ├──VoidCoupon()────────► void                                         │
//	 ◄────────────RefundCoupons() of all, in the next cycle────────────────┘
//
// What holds, and what makes it hold:
//
//   - held never exceeds total: a CHECK on sale_stock. held moves in the
//     transaction that inserts the orders, by the number of rows inserted.
//   - No template gives out more coupons than it has: a CHECK on coupon_templates, whose
//     count moves with the coupons as held does with the orders.
//   - An order is let go once: one conditional UPDATE of a pending row, whose
//     transaction gives back as many units as it returned rows. Its slot goes
//     with it, unless the sale allows no second purchase.
//   - At most one order holds a slot: a partial unique index.
//   - A rid is decided once: it is the primary key of orders, and whoever meets
//     it again gets the stored state. One that orders can take no row of is
//     decided by its dead letter.
//   - An order belongs to the current epoch of a sale that is not retired: its
//     transaction holds the sales row FOR SHARE, a load updates that row.
//   - A coupon has one owner: every step is a conditional UPDATE of a row that the
//     transaction has locked, with its coupon_events row, and in a cycle there is one
//     redeem. What parties bear of it is in coupon_ledger by the same transaction.
//   - What Redis must still show is a row (releases without applied_at, orders
//     whose shown_state is not their state) that a loop finishes.
//
// Locks are taken in one order: the sale's gate, sales, checkouts or orders by
// (user, slot, rank, rid), coupons by id, coupon_templates, sale_stock. Three leave it:
//
//   - Apply inserts new templates before it closes gates, for its sales name them: nobody
//     else has their rows, but one who inserts the same. All insert by id; should it be
//     a recovery, behind the gate (Adopt), one of both may start over.
//   - Apply moves the sale_stock of a sale that was never loaded before it locks templates:
//     such a sale has no orders and no adjustments, and who else changes it waits at its gate.
//   - The decision of a batch whose template refuses updates sales last (decision.pause): it
//     is alone behind the closed gate, where nobody else has or wants that row.
//
// Expiry takes orders, and the jobs of coupons take those, in another order and never wait
// for one (SKIP LOCKED); a cancellation waits for a single one. Times in the rows are
// Postgres time but accepted_at.
package pgstore
