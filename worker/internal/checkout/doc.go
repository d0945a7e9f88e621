// Package checkout keeps coupons moving in the worker: it stands around what order systems
// do with them, to count it and to die at exact points, and lets go of what they forget.
//
//	order system ──► httpapi ──► Calls ──► one transaction in Postgres
//	                                       ▲
//	     each second:  Jobs ── lapse ──────┤  locks whose deadline has passed
//	                        └─ expire ─────┘  coupons whose time is over
//
// Nothing depends on a job being in time: a call finds for itself that a deadline has
// passed. Any number of workers may run them; each takes what the others do not have in
// hand.
package checkout
