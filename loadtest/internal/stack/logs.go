package stack

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// broken is what a Go program prints when it is wrong, though it may run on or be
// started again: nobody would notice.
var broken = []string{"WARNING: DATA RACE", "panic: ", "fatal error: "}

// newLogDir empties the logs of the last run.
func newLogDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("cannot remove the last run's logs: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make a directory for logs: %w", err)
	}
	return nil
}

// checkLogs returns an error for each log with a data race or a panic in it.
func checkLogs(dir string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil {
		return fmt.Errorf("cannot list logs: %w", err)
	}
	var errs []error
	for _, path := range paths {
		errs = append(errs, checkLog(path))
	}
	return errors.Join(errs...)
}

func checkLog(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot check a log: %w", err)
	}
	for line := range bytes.Lines(content) {
		for _, sign := range broken {
			if bytes.HasPrefix(line, []byte(sign)) {
				return fmt.Errorf("a process went wrong: %s has %q", path, bytes.TrimSpace(line))
			}
		}
	}
	return nil
}
