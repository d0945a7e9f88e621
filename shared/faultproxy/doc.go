// Package faultproxy stands between a client and a real server on loopback and
// breaks what passes, for tests.
//
//	client ──► Proxy ──► server
//
//	Heal ──┬─► Cut          connections are closed, new ones too
//	       ├─► LoseReplies  requests arrive, their answers are dropped
//	       ├─► Freeze       connections stay open, nothing passes either way
//	       ├─► HoldRequests what some clients send waits, everything else passes
//	       └─► Delay, LimitCommits, DelayCommits: everything passes, later
//
// It knows bytes, not protocols; but for LimitCommits and DelayCommits, which know
// a Postgres COMMIT when they see one. Toxiproxy would do for cuts and delays, at the price of
// a dozen modules; it can neither forward requests whose answers it drops nor
// count commits.
package faultproxy
