package service

import (
	"sync/atomic"
	"time"
)

// quietFor is how long a repeated fault is not logged again.
const quietFor = 10 * time.Second

// Quiet limits one kind of log line: a fault that repeats with every request must
// not drown what else is logged. The zero value lets the first line through.
type Quiet struct {
	until atomic.Int64 // unix nanoseconds
}

// Allow reports whether the line may be logged now.
func (q *Quiet) Allow() bool {
	now, until := time.Now().UnixNano(), q.until.Load()
	return now >= until && q.until.CompareAndSwap(until, now+int64(quietFor))
}
