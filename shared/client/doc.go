// Package client is the reference client of a buyer's app: it buys, finds out what
// became of an attempt whose answer was lost, and follows a ticket to its outcome.
//
//	Buy ──► attempt ──► ticket                                         ──► Ticket
//	  ▲        │  └───► refused, nothing in doubt                      ──► *Refusal
//	  │        │  └───► 429, busy, paused: wait as told, attempt again
//	  │        ▼
//	  │     no answer, or a 5xx without a ticket: in doubt
//	  │        │
//	  │        ▼
//	  │     tickets/me ──► made since the first attempt                ──► Ticket
//	  └────────┘ none, or no answer: wait, attempt again or ask again
//
// A refusal that comes while an earlier attempt is in doubt is believed only after
// tickets/me was asked once more: a gateway refuses a sold-out sale from memory,
// and does not look whether this buyer is among those who got a unit.
//
// Every request has a deadline, every repetition a bound, and the client has no
// goroutines of its own.
package client
