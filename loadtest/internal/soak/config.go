package soak

import (
	"log/slog"
	"time"
)

// Config of a soak.
type Config struct {
	Lasts     time.Duration // attempts are sent for so long
	Capacity  float64       // attempts a second that the stack bears; 0 is measured first
	Seed      uint64        // of the faults, of who pays, and of who attempts where
	Gateways  int
	Workers   int
	OutDir    string // gets sales files and logs
	BinDir    string
	Log       *slog.Logger
	LookEvery time.Duration // at what is in use
}

// load is the part of its capacity that a stack soaks at.
const load = 0.5

// The life of a sale, from its opening.
const (
	saleEvery = 20 * time.Second // between openings
	saleOpen  = 40 * time.Second // so two are open at a time
	hold      = 8 * time.Second  // to pay
	forget    = 15 * time.Second // from there until gateways and workers know nothing of it
	horizon   = time.Minute      // acknowledged hand-overs are kept
)

// retention is the time from a sale's end until it is retired: long enough to be audited
// before, and short enough for the second half of a soak to retire as many as it opens.
func (c Config) retention() time.Duration {
	return min(max(c.Lasts/5, 45*time.Second), 2*time.Minute).Round(time.Second)
}

// settings have a sale gone soon.
func (c Config) settings() (gateways, workers []string) {
	return []string{"SLUICE_FORGET_AFTER=" + forget.String()}, []string{
		"SLUICE_FORGET_AFTER=" + forget.String(), "SLUICE_RETENTION=" + c.retention().String(), "SLUICE_RETIRE_EVERY=2s",
		"SLUICE_REPLAY_HORIZON=" + horizon.String(),
	}
}
