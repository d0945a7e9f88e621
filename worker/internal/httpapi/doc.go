// Package httpapi is the worker's HTTP interface for buyers: their orders, as
// the rows say, and the cancelling of them. Refusals and errors are application/problem+json.
//
// Trust: a buyer is whom the token names, and sees that buyer's orders alone:
// somebody else's order and none at all are the same answer.
package httpapi
