package usage

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Open is how many descriptors a process has open, and how many of them are sockets:
// connections, and what it listens on.
func Open(pid int) (descriptors, sockets int, err error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, fmt.Errorf("cannot count descriptors: %w", err)
	}
	for _, e := range entries {
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			continue // closed meanwhile
		}
		descriptors++
		if strings.HasPrefix(target, "socket:") {
			sockets++
		}
	}
	return descriptors, sockets, nil
}

// Accepted is how many connections are open at the end of who listens on a port of this
// machine, and how many of those the client has left already.
func Accepted(port int) (open, left int, err error) {
	content, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, 0, fmt.Errorf("cannot count connections: %w", err)
	}
	const established, closeWait = "01", "08" // in the kernel's words
	local := fmt.Sprintf(":%04X", port)
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // number, local and remote address, state
		if len(fields) < 4 || !strings.HasSuffix(fields[1], local) {
			continue
		}
		switch fields[3] {
		case established:
			open++
		case closeWait:
			open, left = open+1, left+1
		}
	}
	return open, left, nil
}

// OwnMB is the memory that a process shares with no other and with no file, in MiB.
func OwnMB(pid int) (float64, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("cannot read memory: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(content))
	for lines.Scan() {
		rest, found := strings.CutPrefix(lines.Text(), "RssAnon:")
		if !found {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 64)
		if err != nil {
			return 0, fmt.Errorf("cannot read memory of process %d: %w", pid, err)
		}
		return kib / 1024, nil
	}
	return 0, fmt.Errorf("cannot read memory of process %d: it tells none", pid)
}
