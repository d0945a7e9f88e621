package compare

import (
	"fmt"
	"syscall"
)

// room wants as many open files as a crowd and a baseline in this process may need: a
// click has two ends, and one more of those that its claimer has given up.
func (c Config) room() error {
	if !c.has(PartIncident) {
		return nil
	}
	const ends, others = 3, 500
	need := uint64(ends*(c.Claimers+c.Claimers/oneInAtOnce*(c.Clicks-1)) + others)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("cannot read the limit of open files: %w", err)
	}
	if limit.Cur < need {
		return fmt.Errorf("cannot hold %d claimers: the limit of open files is %d, they need %d: raise it (ulimit -n)", c.Claimers, limit.Cur, need)
	}
	return nil
}
