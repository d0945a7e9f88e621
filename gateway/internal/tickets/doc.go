// Package tickets reads tickets from Redis, at once or after waiting for news.
//
//	register ──► read ──► enough? ──► answer
//	               ▲         │ no
//	               └─────────┴── wait: a result, progress, ten seconds, the deadline
//
// Trust: a result of a worker is a hint that may be lost or come twice; the
// ticket read from Redis, with the epoch, is what counts.
package tickets
