// Package pacing decides how fast a worker makes orders, and whose turn it is.
//
//	Controller   pure: what order transactions took ──► pace, transactions in flight
//	turns        pure: which sale's transaction begins next, by weight
//	Pacer        both behind a lock, with a rate.Limiter and the time
//
// The controller closes a window once it says enough, and compares its p90 with the target.
//
//	        within the target                            over it: a breach
//	held    pace + 5 × root of it, if it was the limit   consumers × target ÷ p90, pace ×0.9 of what
//	   │                                                 came through; what is in flight ends unjudged
//	   │ some windows and transactions later             ──► held
//	   ▼
//	leap    pace ×2, consumers + 1 if they were the      the same, at the third slow transaction; the
//	        limit, window after window                   next hold is longer
//
// One transaction at a time that is over the target is spaced by the pace. If it is as slow
// with gaps before it, the database is slow, not overloaded: the cuts are taken back and
// the target becomes 1.5 × its p90 (limited by latency). Every so often one transaction at
// a time shows whether it still is.
//
// A transaction costs the pace as many orders as it makes, and some for itself, so that
// one which is short of commits gets fewer and larger ones. Workers that share a
// database need no coordinator: each sees the same latencies, and grows by the root of its pace.
package pacing
