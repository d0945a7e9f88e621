// Package httpapi is the worker's HTTP interface for buyers: their orders, as
// the rows say, and the cancelling of them; for buyers and merchants: coupons, quotes,
// and what order systems do with coupons; and for the payment provider's events.
// Refusals and errors are application/problem+json.
//
// Trust: a buyer is whom the token names, and sees that buyer's orders alone:
// somebody else's order and none at all are the same answer. An event is believed
// for its signature alone. A merchant is whose API key is shown, may do what the key has
// a scope for, and names the user; another merchant's orders are no orders.
package httpapi
