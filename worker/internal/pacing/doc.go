// Package pacing decides how fast a worker makes orders, and whose turn it is.
//
//	Controller   pure: what order transactions took ──► pace, transactions in flight
//	turns        pure: which sale's transaction begins next, by weight
//	Pacer        both behind a lock, with a rate.Limiter and the time
//
// The controller closes a window once it says enough, and compares its p90 with the target.
//
//	         within the target                          over it: a breach
//	fresh    pace, consumers ×2 ──────────────────────► pace ×0.9 of what came through, ×0.5 if that was
//	steady   pace + 5 × root, if it was the limit       not enough or after errors; consumers ≤ what can be
//	   │                                                over within the target (Little's law); then what is
//	   │ every so often                                 in flight ends unjudged ──► steady
//	   ▼
//	probe    one transaction begins early: was it slow? no ──► trial: pace ×2, taken back after 3 slow ones
//	trial    one more consumer, taken back likewise
//
// A database that is as slow at a quarter of the pace is slow, not overloaded: the cuts are
// taken back and the target becomes 1.5 × its p90 (limited by latency). Every so often
// half the consumers show whether it still is.
//
// A transaction costs the pace as many orders as it makes, and some for itself, so that
// one which is short of commits gets fewer and larger ones. Workers that share a
// database need no coordinator: each sees the same latencies, and grows by the root of its pace.
package pacing
