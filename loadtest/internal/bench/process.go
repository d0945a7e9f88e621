package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of CPU time in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// cpuTime is the CPU time that a process has used, to the tick.
func cpuTime(pid int) (time.Duration, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read CPU time: %w", err)
	}
	// The name of the program, in parentheses, may have spaces of its own.
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	const user, system = 11, 12 // fields 14 and 15 of the line, which begins two before
	if len(fields) <= system {
		return 0, fmt.Errorf("cannot read CPU time of process %d: %d fields", pid, len(fields))
	}
	var ticks int64
	for _, field := range [][]byte{fields[user], fields[system]} {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read CPU time of process %d: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// busyTime is the CPU time that everything on this machine has used, the kernel's own
// and what a hypervisor took away included, to the tick.
func busyTime() (time.Duration, error) {
	content, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("cannot read CPU time: %w", err)
	}
	line, _, _ := bytes.Cut(content, []byte{'\n'})
	fields := bytes.Fields(line) // cpu user nice system idle iowait irq softirq steal …
	const first, idle, iowait, last = 1, 4, 5, 8
	if len(fields) <= last {
		return 0, fmt.Errorf("cannot read CPU time of the machine: %q", line)
	}
	var ticks int64
	for i := first; i <= last; i++ {
		n, err := strconv.ParseInt(string(fields[i]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read CPU time of the machine: %w", err)
		}
		if i != idle && i != iowait {
			ticks += n
		}
	}
	return time.Duration(ticks) * tick, nil
}

// residentMB is the memory that a process holds, in MiB.
func residentMB(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read memory: %w", err)
	}
	fields := bytes.Fields(content)
	if len(fields) < 2 {
		return 0, fmt.Errorf("cannot read memory of process %d: %q", pid, content)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cannot read memory of process %d: %w", pid, err)
	}
	return float64(pages) * float64(os.Getpagesize()) / (1 << 20), nil
}
