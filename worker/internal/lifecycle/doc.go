// Package lifecycle keeps what a sale is the same in all stores, applies payments to
// orders, and ends the orders that nobody pays for. Postgres is the truth.
//
// Convergence brings a change of a sale to Redis and then to the catalogue:
//
//	Postgres (epoch, rev) ──► Redis meta ──► KV entry ──► gateways
//
// A lower (epoch, rev) never replaces a higher one, at any step, so any number of
// workers may run the loop, and a crash between two steps is made good by the next
// round.
//
// Expiry closes in Postgres what is overdue there:
//
//	pending ──expires_at passed──► expired + a release ──► applied by fulfil's loop
//
// One transaction does the first step, and the release is its mark of what is left to
// do: a crash in between leaves it to whichever worker's loop comes next.
//
// Upkeep makes the stream and the bucket again when they are gone, and tells the others
// when what is there is not what was:
//
//	gone ──► made anew ┐
//	older copy ────────┴─► changed: entries announced again, lost hand-overs looked for
//
// Payments come from the provider's webhook, which answers once the stream has them:
//
//	stream ──Receiver──► a payments row ──Payments──► order and row, in one commit
//	                                        │  ▲
//	             its order had expired      ▼  │
//	                      Redis: one more unit, under a rid of the old order's
//
// The event's id makes a repeated delivery harmless, the row's result a repeated
// application, the derived rid a repeated reservation: a worker may die anywhere, and
// any other scans for what waits.
//
// Retiring takes sales that are over out of the stores, in the steps of package
// retirement, and Purging removes hand-overs that no replay will ask for.
package lifecycle
