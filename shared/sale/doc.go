// Package sale holds the rules of a sale as pure values and functions: what a
// sale is, when it is open, who may attempt it, how a ticket and an order move,
// what the reserve, settle and release scripts must decide (Model), and what an
// audit of the stores must find true (Audit). It reads no clock and does no I/O;
// callers pass the time in.
//
// A ticket, as the buyer sees it. It never moves to the left:
//
//	queued ──► confirmed ──► paid ──► refunded
//	   │           ├───────► expired
//	   │           └───────► cancelled
//	   └──────────────────► rejected
//
// An order, as Postgres keeps it:
//
//	pending ──► paid ──► refunded
//	   ├──────► expired
//	   └──────► cancelled
//	rejected (born so: duplicate, surplus, invalid, superseded)
//
// Trust: Postgres is the only arbiter. A ticket in Redis and a message in
// JetStream are claims that the order row confirms or rejects.
package sale
