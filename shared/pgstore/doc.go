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
// What holds, and what makes it hold:
//
//   - held never exceeds total: a CHECK on sale_stock. held moves in the
//     transaction that inserts the orders, by the number of rows inserted.
//   - An order is let go once: one conditional UPDATE of a pending row, whose
//     transaction gives back as many units as it returned rows. Its slot goes
//     with it, unless the sale allows no second purchase.
//   - At most one order holds a slot: a partial unique index.
//   - A rid is decided once: it is the primary key of orders, and whoever meets
//     it again gets the stored state. One that orders can take no row of is
//     decided by its dead letter.
//   - An order belongs to the current epoch of a sale that is not retired: its
//     transaction holds the sales row FOR SHARE, a load updates that row.
//   - What Redis must still show is a row (releases without applied_at, orders
//     whose shown_state is not their state) that a loop finishes.
//
// Locks are taken in one order everywhere: the sale's gate, sales, orders by
// (user, slot, rank, rid), sale_stock. Expiry takes orders in another order and never
// waits for one (SKIP LOCKED); a cancellation waits for a single one. Times in the rows are Postgres time but accepted_at.
package pgstore
