package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Freeze stops the server and the processes it has started, as a machine that hangs: it
// keeps its connections and answers nobody. Linux only.
func (s *Server) Freeze() error { return s.signalAll(syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() error { return s.signalAll(syscall.SIGCONT) }

// KillAll is Kill for a server that may be frozen: processes that it has started would
// notice its end only once they go on.
func (s *Server) KillAll() error {
	var children []int
	if mustRun(s) == nil { // else its id may be another's by now
		children = childrenOf(s.PID())
	}
	errs := []error{s.Kill()}
	for _, pid := range children {
		errs = append(errs, signalPID(pid, syscall.SIGKILL))
	}
	return errors.Join(errs...)
}

// signalAll begins with the server itself, which starts no other process then.
func (s *Server) signalAll(sig syscall.Signal) error {
	if err := mustRun(s); err != nil {
		return err
	}
	errs := []error{signalPID(s.PID(), sig)}
	for _, pid := range childrenOf(s.PID()) {
		errs = append(errs, signalPID(pid, sig))
	}
	return errors.Join(errs...)
}

// signalPID is no error when the process has ended.
func signalPID(pid int, sig syscall.Signal) error {
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("cannot send %s to process %d: %w", sig, pid, err)
	}
	return nil
}

// childrenOf lists the processes whose parent is pid, as /proc has them; none elsewhere.
func childrenOf(pid int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // errors only on a bad pattern
	var children []int
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended since
		}
		// pid (name) state parent …; the name may hold anything.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			children = append(children, child)
		}
	}
	return children
}
