// Package alerts says when a person has to look, once, and when that is over, once.
//
//	         its condition holds                   for long enough
//	(none) ──────────────────────► pending ──────────────────────► firing
//	   ▲                           │     ▲                            │
//	   └── it does not hold ───────┘     │ its condition holds        │ it is well again,
//	                                     │                            │ for long enough
//	   (forgotten after an hour) ◄─── resolved ◄──────────────────────┘
//
// Well again asks for more than not ill: each condition has a second one that ends it
// (see rules.go), and what lies between the two changes nothing. What cannot be seen
// changes nothing either.
//
// The alerts are rows in Postgres, so that another worker, or this one started again,
// goes on where the last one was: it tells nobody twice and forgets no end. (A kill
// between a receiver's answer and its row repeats that one notification.) One worker
// at a time keeps them (keeper): it reads them, evaluates, writes what has changed on
// the very session that makes it the only one, and then tells. The others show what is
// written.
//
// When Postgres is away for a few seconds every worker evaluates alone, from what it
// last read on, by what it can see itself, and tells on its own: a receiver hears of the
// same alert from each, with the same fingerprint. When Postgres is back what they found
// is merged into the rows.
//
// A receiver is told states, not events: whatever it has not acknowledged of an alert's
// newest state is sent until it has. One request is under way at a time and each is made
// of what holds at that moment, so nothing piles up while the receiver is away.
package alerts
