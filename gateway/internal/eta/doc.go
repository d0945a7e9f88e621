// Package eta says when a ticket's turn comes, as a range of seconds. It is pure: it
// reads no clock, and keeps a bounded state a sale, fed by what workers tell several
// times a second.
//
//	unknown ──a worker tells a pace, or is seen to serve──► known
//	   ▲                                                     │
//	   └── a new epoch · 3 s without a word · paused · ──────┘
//	       nothing served for long though something waits
//
// Three paces make a range:
//
//	now    what the workers allow themselves together, or what they serve, if that is
//	       less while something waits; until that is measured, no more than was measured
//	       last, or 500 a second: an idle worker allows what it never had to keep up
//	best   the highest of the last half to whole minute
//	usual  now, smoothed: a rise is believed within seconds, a fall slowly, and the
//	       more slowly the longer a ticket has to wait, so that what a buyer was told
//	       does not jump
//
// Low is the time to serve those ahead at the best pace, if it grows as fast as workers
// let theirs grow. High is two and a half times as long as the usual pace takes, and never less
// than the pace now takes: so a pace that is halved the moment after keeps to it.
//
// Low is never beyond high. A ticket that was overtaken, by more than the workers serve
// until the high of the one whose turn it is, waits for something of its own: unknown.
//
// Trust: a range is a hint for people. Nothing is decided by it.
package eta
