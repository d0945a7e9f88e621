package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// warmupTimeout bounds one warmup command; the largest sales file loads in seconds.
const warmupTimeout = 2 * time.Minute

// Warmup runs a warmup command against the stack's stores, as an operator would.
func (s *Stack) Warmup(ctx context.Context, args ...string) error { return s.warmup(ctx, args...) }

// makeMerchantKey makes an API key that is good for everything.
func (s *Stack) makeMerchantKey(ctx context.Context) (string, error) {
	all := make([]string, 0, len(sale.Scopes()))
	for _, scope := range sale.Scopes() {
		all = append(all, string(scope))
	}
	var key strings.Builder
	err := s.warmupSays(ctx, &key, "merchant-key", "create", "-merchant", "sluice-up", "-scopes", strings.Join(all, ","))
	return strings.TrimSpace(key.String()), err
}

func (s *Stack) warmup(ctx context.Context, args ...string) error {
	return s.warmupSays(ctx, nil, args...)
}

// warmupSays runs one warmup command against the stack's stores. What it prints goes to
// stdout, if that is not nil, else to its log. What it says last, its one-line error,
// becomes this error.
func (s *Stack) warmupSays(ctx context.Context, stdout io.Writer, args ...string) error {
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
	if stdout != nil {
		cmd.Stdout = stdout // a secret, which no log should have
	}
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
