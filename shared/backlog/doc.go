// Package backlog knows how much waits of every sale: reservations that were accepted
// and are not settled, since when the oldest of them waits, and how fast they are served.
//
// Each process that has a Watch computes it on its own, from what it reads of Redis
// about each sale once a second anyway, so gateways tell it when there is no worker:
//
//	waiting     rank − served of one snapshot. A rank is given with every accepted
//	            reservation; served counts each once, when it is settled or released;
//	            a rebuild starts with both equal. So it is exact, at its epoch.
//	oldest      the earliest of
//	              the oldest entry of handoff: accepted, not known to be in the stream
//	              the first hand-over after what the consumer has acknowledged
//	              the first reading that saw something wait, if nothing was served since
//	drain rate  growth of served over the last five seconds, at one epoch
//
//	                     Apply(entry)
//	        unknown ─────────────────────► known ──Take(snapshot)──► read ◄─┐ Take, Run
//	           ▲                             │                        │ └───┘
//	           └─────────────────────────────┴────── retired ─────────┘
//
// The stream is asked only about sales of which something waits, by Run, after each
// snapshot that says so; an idle sale costs no call to NATS.
//
// Trust: what cannot be read stays as it was last known, so an age goes on growing while
// a store is away and while a sale is rebuilt. Only the drain rate is of the last seconds
// or unknown: a rate of before would say that something is served. A sale that cannot be
// read is stale: that nothing waited when it was last read says nothing of now. What was never read is
// not told at all, and never as zero. The three moments of oldest come from the clocks of Redis and NATS,
// an age compares them with the process's own. Oldest may err, always for less than it
// takes to read a sale again:
//
//   - towards older, when a hand-over was settled but its acknowledgement is on its way;
//     for the ack wait when that was lost
//   - towards unknown, when all that the snapshot saw was settled before the stream was asked
//
// And it is too young, for as long as it lasts, for a reservation that is neither in
// handoff nor in the stream while others of its sale are served: a settled ticket that
// Redis did not take yet, or one that is lost. Loops of the workers bring those on, and
// the reconciliation counts them.
package backlog
