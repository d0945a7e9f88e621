package console

import (
	"context"
	"time"

	"sluice/shared/sale"
)

// sales are the sales as Postgres has them.
type sales interface {
	// Standings returns how every sale stands; saleID is "".
	Standings(ctx context.Context, saleID string) ([]sale.Standing, error)
}

// snapshots read a sale's state in Redis; sale.ErrStale when that epoch is not live.
type snapshots interface {
	Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error)
}

// Sources are what the console shows. The functions answer from memory; one that is nil is
// of something that this worker does not watch.
type Sources struct {
	Sales   sales
	Redis   snapshots
	Backlog func() []Backlog
	Promise time.Duration // most that a reservation may wait; 0 for no promise
	Pace    func() Pace
	Alerts  func() []Alert
}

// Backlog is what of a sale was accepted and is not yet settled.
type Backlog struct {
	SaleID    string
	Known     bool // it was read once
	Waiting   int64
	Oldest    time.Time // since when the oldest waits; zero when nothing waits, or that is not known yet
	Stale     bool      // it cannot be read: the rest is as it was
	DrainRate float64   // reservations served a second, lately; negative when not known yet
}

// Pace is what this worker allows itself.
type Pace struct {
	Paused                            bool
	Orders                            float64       // a second
	P90, Target                       time.Duration // of order transactions; P90 is 0 before the first
	LimitedBy                         string        // pace, demand, consumers, latency, ceiling or errors
	Consumers, ConsumersMax, InFlight int
	WorkersWanted                     int
}

// Alert is one that is pending, fires, or was resolved lately.
type Alert struct {
	Name       string
	State      string // pending, firing or resolved
	Severity   string // page or ticket
	Sale       string // "" when it is of no sale
	Dependency string // "" when it is of no dependency
	Summary    string
	Since      time.Time
	ResolvedAt time.Time // zero unless resolved
}
