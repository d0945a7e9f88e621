package fulfil

import (
	"sync/atomic"
	"time"
)

// quietFor is how long a repeated fault is not logged again.
const quietFor = 10 * time.Second

// quiet limits one kind of log line. The zero value lets the first through.
type quiet struct {
	until atomic.Int64 // unix nanoseconds
}

func (q *quiet) allow() bool {
	now, until := time.Now().UnixNano(), q.until.Load()
	return now >= until && q.until.CompareAndSwap(until, now+int64(quietFor))
}
