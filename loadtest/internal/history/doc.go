// Package history holds what clients saw against what Postgres ended with.
//
//	clients ── every attempt, read, payment and its answer ──► journal ─┐
//	                                                                    ├─► Check ─► violations of I1 … I7
//	Postgres ── rows, once everything has come to rest ───────► State ──┘
//
// It is the sceptic: it shares no code with what it checks, knows the invariants from
// their wording alone, and trusts neither side. A client's word is what it was answered
// and when, by its own monotonic clock; Postgres's is its rows, read by SQL written here.
package history
