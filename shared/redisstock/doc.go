// Package redisstock keeps a sale's fast state in Redis: stock, the set of
// buyers, tickets and the hand-over list. Every change is one of the scripts in
// module lua; this package only builds their arguments and reads their replies.
//
// A sale's state in Redis lives in epochs:
//
//	nothing ──Fence──► loading ──Flip──► live ──Fence (next epoch)──► loading …
//
// Trust: Redis may be wrong or lost. Each call carries the epoch that its caller
// learned from the catalogue; when Redis holds another one, is loading, or holds
// nothing, the call returns sale.ErrStale and has moved nothing. Nil is believed to
// mean "not there" only beside a live state in the same reply.
//
// All calls are idempotent by rid: after a lost reply the same call returns the
// stored outcome. The client itself never retries what may have run.
//
// All keys of a sale share a hash tag, so on a cluster one master has the sale, and its run
// id is in meta: after a failover, or once its slot has moved, another process executes, and
// the sale is as lost as after a restart.
package redisstock
