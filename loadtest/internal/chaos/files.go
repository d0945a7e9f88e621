package chaos

import (
	"fmt"
	"syscall"

	"sluice/shared/service"
)

// roomForFiles raises this process's limit of open files, which the processes of a stack
// inherit, as far as rows need it.
func roomForFiles(rows []Row) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("cannot read the limit of open files: %w", err)
	}
	for _, row := range rows {
		if row.Files <= limit.Max {
			continue // programs take all that they may have by themselves
		}
		raised := syscall.Rlimit{Cur: row.Files, Max: row.Files}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised); err != nil {
			return service.UsageErrorf("row %s needs %d open files a process, the limit is %d and cannot be raised from here (%v): raise it (ulimit -Hn %d as root; --ulimit nofile=%d for a container), or leave it out: -except %s",
				row.ID, row.Files, limit.Max, err, row.Files, row.Files, row.ID)
		}
		limit = raised
	}
	return nil
}
