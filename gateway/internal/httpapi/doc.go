// Package httpapi is the gateway's public HTTP interface: it reads requests,
// sends attempts through the funnel, reads tickets, and writes answers. Refusals
// and errors are application/problem+json.
//
// Trust: nothing of a request is believed before it is checked here: the path,
// the body, the idempotency key; the funnel and the ticket reads check the token.
package httpapi
