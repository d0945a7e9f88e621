// Package usage reads what processes of this machine use: CPU time and memory.
package usage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// tick is the unit of CPU time in /proc, the same on every Linux.
const tick = 10 * time.Millisecond

// Places in /proc/PID/stat, counted from the field after the program's name, its third.
const (
	statParent = 1
	statUser   = 11
	statSystem = 12
	statReaped = 13 // user time of children that have ended; their system time is next
)

// CPU is the CPU time that a process has used, to the tick.
func CPU(pid int) (time.Duration, error) {
	stat, err := readStat(pid)
	if err != nil {
		return 0, err
	}
	return time.Duration(stat[statUser]+stat[statSystem]) * tick, nil
}

// Family is that of a process and all its children, those that have ended
// included.
func Family(pid int) (time.Duration, error) {
	stat, err := readStat(pid)
	if err != nil {
		return 0, err
	}
	ticks := stat[statUser] + stat[statSystem] + stat[statReaped] + stat[statReaped+1]
	children, err := Children(pid)
	if err != nil {
		return 0, err
	}
	for _, child := range children {
		if stat, err := readStat(child); err == nil { // one that ended meanwhile is among those that have
			ticks += stat[statUser] + stat[statSystem]
		}
	}
	return time.Duration(ticks) * tick, nil
}

// Children are the processes that a process has started and that have not ended.
func Children(pid int) (children []int, err error) {
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("cannot list processes: %w", err)
	}
	for _, dir := range found {
		child, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		// One that ended meanwhile is no child any more.
		if stat, err := readStat(child); err == nil && stat[statParent] == int64(pid) {
			children = append(children, child)
		}
	}
	return children, nil
}

// readStat reads the numbers that /proc tells of a process.
func readStat(pid int) (numbers [statReaped + 2]int64, err error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return numbers, fmt.Errorf("cannot read CPU time: %w", err)
	}
	// The name of the program, in parentheses, may have spaces of its own.
	fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
	if len(fields) < len(numbers) {
		return numbers, fmt.Errorf("cannot read CPU time of process %d: %d fields", pid, len(fields))
	}
	for i := statParent; i < len(numbers); i++ { // before it is a letter, the state
		if numbers[i], err = strconv.ParseInt(string(fields[i]), 10, 64); err != nil {
			return numbers, fmt.Errorf("cannot read CPU time of process %d: %w", pid, err)
		}
	}
	return numbers, nil
}

// Machine is the CPU time that everything on this machine has used, the kernel's own
// and what a hypervisor took away included, to the tick.
func Machine() (time.Duration, error) {
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

// ResidentMB is the memory that a process holds, in MiB.
func ResidentMB(pid int) (float64, error) {
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
