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
