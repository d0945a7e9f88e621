// Package ledger is the reference ledger: the whole protocol of one sale on maps, with
// everything that may go wrong between two steps of it.
//
//	Action ──► World ──► task: a gateway's call, a worker's delivery, a loop, a load
//	                       │ one step, one call of a store, at a time; between two
//	                       │ steps anything else may happen, and the task may die
//	                       ▼
//	             Redis · stream · catalogue · Postgres, each call as one decision
//
// A history is a list of Actions, so whatever is found is replayed by Run. After each
// step the invariants are checked, and once nothing moves any more those of a sale at
// rest. That is what a test explores, thousands of lists at a time.
//
// The same tasks drive real stores too: World talks to Redis and Postgres through
// FastState and Truth, and a test puts both behind them, compares every answer, and what
// each ends with.
//
// Trust: it shares words (package sale) with the product, and the decision about a
// payment event, which is a pure function there; nothing else. What it says of the tasks
// is said once more here, from the design, step by step. A Protection may be taken away,
// to show that its absence is found.
package ledger
