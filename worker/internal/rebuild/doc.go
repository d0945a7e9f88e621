// Package rebuild finds sales that Redis has lost and brings them back.
//
//	detect   once a second, each sale: Postgres says live at an epoch, Redis answers
//	         STALE there, twice ──► the rebuild is requested, in Postgres
//	run      any sale that is rebuilding and whose lock is free: package load, to the end
//
// A request is a state of the sale, so it does not matter who made it (this loop, an
// operator, a worker that has died) nor who runs it. A Redis that cannot be reached is
// no reason for a rebuild: nothing is known about what it holds.
//
// Trust: the lock keeps workers from doing the same work twice. What keeps two of them
// from harm is in package load.
package rebuild
