// Package lifecycle keeps what a sale is the same in all stores. Postgres is the
// truth; one loop brings it to Redis and then to the catalogue:
//
//	Postgres (epoch, rev) ──► Redis meta ──► KV entry ──► gateways
//
// A lower (epoch, rev) never replaces a higher one, at any step, so any number of
// workers may run the loop, and a crash between two steps is made good by the next
// round.
package lifecycle
