package sale

import (
	"errors"
	"time"
)

// ErrStale says that Redis does not hold the epoch that the caller believes in,
// is loading it, or holds nothing of the sale. Nothing was read or written.
var ErrStale = errors.New("sale is not live in redis at this epoch")

// ErrFence says that another load fenced the sale, or that Redis was restarted since:
// the load starts over with the next epoch.
var ErrFence = errors.New("the fence of this load is gone")

// Snapshot is a sale's state in Redis at one moment. Every script replies with
// one. Beside ErrStale only Epoch and Now mean anything.
type Snapshot struct {
	SaleID            string
	Epoch, Version    int64
	SoldOut, Paused   bool
	OpensAt, ClosesAt time.Time
	Now               time.Time // Redis time, milliseconds
	Limit             int       // per user
	Total             int64     // units
	Stock             int64     // units left
	Rank              int64     // last rank given
	Accepted          int64     // units ever taken
	Served            int64     // reservations with an outcome
	Unpaid            int64     // reservations that may yet come back
	Given             int64     // units ever given back
}

// NewerThan reports whether s may replace o: by (Epoch, Version), never by time.
func (s Snapshot) NewerThan(o Snapshot) bool {
	if s.Epoch != o.Epoch {
		return s.Epoch > o.Epoch
	}
	return s.Version > o.Version
}

// HandOff is the list of reservations that JetStream has not acknowledged yet.
type HandOff struct {
	Count  int64
	Oldest time.Time // Redis time; zero when the list is empty
}
