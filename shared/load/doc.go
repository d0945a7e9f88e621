// Package load brings a sale live in Redis at its next epoch, out of what Postgres
// says: for the first time, or because Redis has lost it, or on request.
//
//	begin      Postgres hands out the epoch: it is above every one that any store knows
//	announce   gateways stop selling
//	fence      Redis refuses everything but this load, which has a random token
//	wait       longer than any gateway answers 202 for what was reserved before
//	save       what is queued in older epochs and has no outcome is handed over again
//	order      workers order every hand-over up to the last one in the stream; then save again,
//	           and order once more if there was anything
//	count      Postgres, as of one moment: what is free, and a ticket of every row
//	load       the tickets, behind the fence
//	flip       live, if the fence is still this load's and Redis the same process
//	finish     Postgres says so, then the catalogue: gateways sell
//
// No step may be left out or moved. What is counted must be final: before the wait a
// gateway might still hand over what it answers 202 for, before the order step the
// stream still holds such, and what was ordered after the count would hold a unit that
// Redis sells again.
//
// Trust: nothing but the epoch and the token. A run may stop anywhere; the next one, of
// anybody, begins at an epoch of its own, or ends what had gone live. An
// advisory lock keeps two loads of one sale from getting into each other's way, but it
// is not what makes them harmless: one that was overtaken finds its token or its epoch
// gone, and has changed nothing that counts.
package load
