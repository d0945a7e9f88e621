package backlog

import (
	"flag"
	"fmt"
	"time"
)

// PromiseFlag registers the flag of the age that is promised. It is the same for every program.
func PromiseFlag(fs *flag.FlagSet, promise *time.Duration) {
	fs.DurationVar(promise, "backlog-promise", 30*time.Second, "age of a backlog that is promised at most, which metrics, alerts and operators are told; the same on every gateway and worker")
}

// CheckPromise refuses a promise that cannot be meant. Sales are read once a second.
func CheckPromise(promise time.Duration) error {
	if promise < time.Second {
		return fmt.Errorf("-backlog-promise (SLUICE_BACKLOG_PROMISE) must be at least 1s, is %s", promise)
	}
	return nil
}
