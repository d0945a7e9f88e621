package service_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/shared/service"
)

// childVariable makes the test binary a service that ends in the named way.
const childVariable = "SERVICE_TEST_CHILD"

func TestMain(m *testing.M) {
	if way := os.Getenv(childVariable); way != "" {
		service.Main("child", func(ctx context.Context, _ []string, _ func(string) string, stdout, _ io.Writer) error {
			return end(ctx, way, stdout)
		})
	}
	os.Exit(m.Run())
}

func end(ctx context.Context, way string, stdout io.Writer) error {
	switch way {
	case "well":
		return nil
	case "help":
		return flag.ErrHelp
	case "usage":
		return fmt.Errorf("cannot start: %w", service.UsageErrorf("-drain (SLUICE_DRAIN) is bad"))
	case "badly":
		return errors.Join(errors.New("first"), errors.New("second"))
	default: // at a signal; the second one must end it
		fmt.Fprintln(stdout, "started")
		<-ctx.Done()
		if way == "stubborn" {
			fmt.Fprintln(stdout, "draining")
			select {}
		}
		return nil
	}
}

func newChild(t *testing.T, way string) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	child := exec.CommandContext(ctx, os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+way)
	stderr := &strings.Builder{}
	child.Stderr = stderr
	return child, stderr
}

func TestMain_ExitCodesAndOneLine(t *testing.T) {
	t.Parallel()
	for way, want := range map[string]struct {
		code   int
		stderr string
	}{
		"well":  {0, ""},
		"help":  {0, ""},
		"usage": {2, "child: cannot start: -drain (SLUICE_DRAIN) is bad\n"},
		"badly": {1, "child: first; second\n"},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			child, stderr := newChild(t, way)
			_ = child.Run() // the exit code is looked at below
			if got := child.ProcessState.ExitCode(); got != want.code || stderr.String() != want.stderr {
				t.Errorf("exit code %d, stderr %q, want %d, %q", got, stderr, want.code, want.stderr)
			}
		})
	}
}

func TestMain_AnswersWhichVersionItIs(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"version", "-version", "--version"} {
		child, stderr := newChild(t, "badly")
		child.Args = append(child.Args, word)
		out, err := child.Output()
		if want := fmt.Sprintf("child %s\n", service.ReadVersion()); err != nil || string(out) != want || stderr.Len() > 0 {
			t.Errorf("%s: error %v, prints %q and %q, want %q", word, err, out, stderr, want)
		}
	}
	child, _ := newChild(t, "badly")
	child.Args = append(child.Args, "version", "phone")
	if out, err := child.Output(); err == nil || len(out) > 0 {
		t.Errorf("an operand beside it is not for run: error %v, prints %q", err, out)
	}
}

func TestMain_FirstSignalEndsTheContextSecondExits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		way     string
		signals []syscall.Signal
		code    int
		stderr  string
	}{
		{"signalled", []syscall.Signal{syscall.SIGTERM}, 0, ""},
		{"signalled", []syscall.Signal{syscall.SIGINT}, 0, ""},
		{"stubborn", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 1, "child: stopped by a second signal before it was done\n"},
	} {
		child, stderr := newChild(t, c.way)
		stdout, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 64)
		for i, signal := range c.signals {
			if i > 0 {
				time.Sleep(1100 * time.Millisecond) // sooner it would only repeat the first
			}
			if _, err := stdout.Read(buffer); err != nil { // the child says when it waits
				t.Fatal(err)
			}
			if err := child.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
		_ = child.Wait() // the exit code is looked at below
		if got := child.ProcessState.ExitCode(); got != c.code || stderr.String() != c.stderr {
			t.Errorf("%s after %v: exit code %d, stderr %q", c.way, c.signals, got, stderr)
		}
	}
}
