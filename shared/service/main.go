package service

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Run is a process: it returns when its work is done or ctx ends, having
// stopped all it started.
type Run func(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error

// ErrUsage is wrapped by errors of the command line and the environment.
var ErrUsage = errors.New("usage")

// usageError carries a message that should not begin with "usage".
type usageError struct{ message string }

func (e usageError) Error() string        { return e.message }
func (e usageError) Is(target error) bool { return target == ErrUsage }

// UsageErrorf makes an error that wraps ErrUsage and reads as formatted.
func UsageErrorf(format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...)}
}

// Main runs the process and exits: 0 when run returns nil or was asked for help,
// 2 when the command line or environment is wrong, else 1, with one line on
// stderr. `version` and `-version` are answered here, alike by all. The first SIGINT, SIGTERM or SIGHUP ends run's context; the second exits at
// once with 1.
func Main(name string, run Run) {
	if versionAsked(os.Args[1:]) {
		os.Exit(exitCode(name, tellVersion(os.Stdout, name), os.Stderr))
	}
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() { // lives as long as the process
		<-signals
		cancel()
		insisted(signals, time.Now())
		os.Exit(exitCode(name, errors.New("stopped by a second signal before it was done"), os.Stderr))
	}()
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	os.Exit(exitCode(name, err, os.Stderr))
}

// insists is how soon after the first signal another one only repeats it: whoever
// stops a whole process group, or sends HUP behind TERM, is not impatient.
const insists = time.Second

// insisted waits for a signal that means now.
func insisted(signals <-chan os.Signal, first time.Time) {
	for s := range signals {
		if s != syscall.SIGHUP && time.Since(first) > insists {
			return
		}
	}
}

func exitCode(name string, err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	line := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ")
	fmt.Fprintf(stderr, "%s: %s\n", name, line)
	if errors.Is(err, ErrUsage) {
		return 2
	}
	return 1
}
