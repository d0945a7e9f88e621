package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sluice/shared/devstack"
)

// warmupTimeout bounds one warmup command; the largest sales file loads in seconds.
const warmupTimeout = 2 * time.Minute

// Warmup runs a warmup command against the stack's stores, as an operator would.
func (s *Stack) Warmup(ctx context.Context, args ...string) error { return s.warmup(ctx, args...) }

// warmup runs one warmup command against the stack's stores. What it says last, its
// one-line error, becomes this error.
func (s *Stack) warmup(ctx context.Context, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, warmupTimeout)
	defer cancel()
	logFile, err := os.Create(filepath.Join(s.logDir(), "warmup-"+args[0]+".log"))
	if err != nil {
		return fmt.Errorf("cannot open the log of warmup: %w", err)
	}
	defer logFile.Close() // the child has its own descriptor
	cmd := exec.Command(filepath.Join(s.config.BinDir, "warmup"), args...)
	cmd.Env = append(childEnv(), s.Info().warmupEnv()...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	process, err := devstack.StartProcess(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	select {
	case <-process.Exited():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("warmup %s was stopped: %w", args[0], ctx.Err()), process.Kill())
	}
	if !cmd.ProcessState.Success() {
		return fmt.Errorf("warmup %s failed (%s): %s", args[0], process.Status(), lastLine(logFile.Name()))
	}
	return nil
}

// lastLine returns the last line of a log that says something.
func lastLine(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return lines[len(lines)-1]
}
