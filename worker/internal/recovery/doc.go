// Package recovery notices that Postgres came back without its last commits, restored
// from an older copy or failed over to a server that had not received them, and brings
// them back from the other stores.
//
//	a server process that nobody knows ──► compare ──► current: everybody works with it
//	      (nobody works with it)              │            ▲
//	                                          ▼            │
//	                                       behind ──► recover
//
// Every start of Postgres is looked at once, by one worker, before any worker orders,
// expires or cancels anything there: their stores refuse an unknown server process. So
// nothing is decided on a state that is over, and what has to be right about a recovery
// is right because nobody else writes.
//
// Compare reads the tickets. One shows an outcome only after its commit, so one that
// Postgres does not know is a commit that is gone. Of a sale that Redis is not live for it
// asks the stream, too: a hand-over is acknowledged only after its commit.
//
// Recover goes from what frees units to what takes them: payment events are stored; then
// catalogue, closed and refunded tickets, open tickets by rank, hand-overs in the stream;
// then payments are applied, and Redis is rebuilt. Each step may be repeated, by another
// worker too: the server stays behind until the last one is done.
package recovery
