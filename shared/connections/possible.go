package connections

import (
	"fmt"
	"math"
	"syscall"

	"sluice/shared/service"
)

// Possible is how many connections of clients the process can take: asked, of its flag
// -max-connections, or as many as is usual when that is 0 and there are descriptors for them,
// beside those that are reserved for all else. More than there are descriptors for is refused.
func Possible(asked, usual, reserved int) (int, error) {
	if asked < 0 {
		return 0, service.UsageErrorf("-max-connections (%s) must not be negative, is %d", service.Variable("max-connections"), asked)
	}
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 0, fmt.Errorf("cannot read the limit of open files: %w", err)
	}
	most := max(1, int(min(files.Cur, math.MaxInt32))-reserved)
	if asked > most {
		return 0, service.UsageErrorf("-max-connections (%s) is %d, but the limit of open files leaves room for %d: lower it, or raise the limit (ulimit -n)",
			service.Variable("max-connections"), asked, most)
	}
	if asked == 0 {
		return min(usual, most), nil
	}
	return asked, nil
}
