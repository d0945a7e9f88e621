// Package fulfil turns hand-overs into orders and shows the orders on tickets.
// Each sale of the catalogue gets its own goroutines, so that one sale's flood
// or fault does not touch another's; a file holds one role.
//
//	per sale     consumer   gather ──► turn ──► order ──► settle ──► notify ──► ack
//	                        one gathers; batches are in hand side by side from order on
//	             keeper     keeps deliveries in hand from being redelivered
//	             sweeper    hands over again what no gateway got acknowledged
//	             lost       hands over again what was acknowledged and has no outcome
//	             progress   tells how far the sale has been served
//	per process  releases   applies to Redis what Postgres closed
//	             shown      settles what could not be settled at once
//	             adjustments  brings to Redis what operators add and take away
//
// What the last three have in common, rows that Redis must still show, is owed.go.
//
// Trust: Postgres decides. A hand-over may repeat, come late or be regrouped; a
// rid that has a row keeps it. A hand-over is acknowledged only once its orders
// are committed and either shown on their tickets or marked as still to be
// shown, so a worker may die anywhere: the next delivery finishes its work.
//
// Only what is at fault itself leaves this way: a reservation that the database
// refuses for what it is, and a hand-over that cannot be read, get a dead letter.
// After any other error everything is given back and pulling pauses.
package fulfil
