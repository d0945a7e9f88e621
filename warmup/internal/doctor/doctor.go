// Package doctor judges by the settings of the stores which promise an installation
// keeps. It reads nothing itself.
//
//	dev     the stores are there      no oversell while Postgres is intact
//	single  each syncs what it says   + nothing answered 202 is lost to process kill or OS crash
//	ha      each has a second copy    + survives the loss of any one store
package doctor

import (
	"fmt"
	"slices"
	"time"

	"sluice/shared/jetqueue"
	"sluice/shared/pgstore"
	"sluice/shared/redisstock"
)

// Level is a promise by configuration. Each includes those before it.
type Level int

// Levels, in order. None is less than any promise.
const (
	None Level = iota
	Dev
	Single
	HA
)

// names of the levels, as flags and output spell them.
func names() []string { return []string{"none", "dev", "single", "ha"} }

func (l Level) String() string { return names()[l] }

// ParseLevel reads a level that can be required.
func ParseLevel(text string) (Level, error) {
	if i := slices.Index(names(), text); i > 0 {
		return Level(i), nil
	}
	return None, fmt.Errorf("must be dev, single or ha, is %q", text)
}

// Facts are what the stores say.
type Facts struct {
	Redis    []redisstock.Settings // of the server, or of every master of a cluster
	Scripts  error                 // why scripts cannot be loaded and run, nil when they can
	NATS     jetqueue.Settings
	Servers  []NATSServer // as their monitoring says; empty when nobody said where that is
	Silent   []error      // why others' monitoring says nothing
	Postgres pgstore.Settings
	Schema   error                    // why the schema does not fit this binary, nil when it does
	Skew     map[string]time.Duration // of a store's clock against this one, by store
}

// NATSServer is one NATS server, as its monitoring says.
type NATSServer struct {
	Name       string
	SyncAlways bool
}

// Check is one thing that was looked at.
type Check struct {
	Store, Name string
	Level       Level // that it is needed for; None for a remark
	Pass        bool
	Found       string
	Missing     string // what to do, when it does not pass
}

// Examine judges all facts.
func Examine(f Facts) []Check {
	return slices.Concat(redisChecks(f), natsChecks(f), postgresChecks(f), clockChecks(f))
}

// Earned is the highest level that no failed check keeps from being earned.
func Earned(checks []Check) Level {
	earned := HA
	for _, c := range checks {
		if !c.Pass && c.Level != None {
			earned = min(earned, c.Level-1)
		}
	}
	return earned
}

// Missing lists the failed checks of the next level after earned.
func Missing(checks []Check, earned Level) []Check {
	var missing []Check
	for _, c := range checks {
		if !c.Pass && c.Level == earned+1 {
			missing = append(missing, c)
		}
	}
	return missing
}

const (
	storeRedis    = "redis"
	storeNATS     = "nats"
	storePostgres = "postgres"
)

// maxSkew is more than clocks that are kept by NTP ever differ by. Deadlines are
// compared within one store only; people compare times across stores.
const maxSkew = 2 * time.Second

// Skew is how far a clock that said at, between asked and answered, is from this one at
// least.
func Skew(at, asked, answered time.Time) time.Duration {
	switch {
	case at.Before(asked):
		return at.Sub(asked)
	case at.After(answered):
		return at.Sub(answered)
	default:
		return 0
	}
}

func clockChecks(f Facts) (checks []Check) {
	for _, r := range f.Redis {
		checks = append(checks, clockCheck(storeRedis, on(r), Skew(r.Now, r.Asked, r.Answered)))
	}
	return append(checks, clockCheck(storePostgres, "", f.Skew[storePostgres]))
}

func clockCheck(store, node string, skew time.Duration) Check {
	skew = skew.Round(time.Millisecond)
	return Check{
		Store: store, Name: "clock" + node, Level: Single, Pass: skew.Abs() <= maxSkew, Found: fmt.Sprintf("%v from this machine's", skew),
		Missing: fmt.Sprintf("keep the clocks of %s and of this machine in step, by NTP", store),
	}
}
