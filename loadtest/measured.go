package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
	"sluice/shared/service"
)

// conclude writes the report of a measurement into out and prints what it found and where
// the report is. It fails when the verdict does; of one that was interrupted its caller has
// the error.
func conclude(rep report.Report, out string, stdout io.Writer, printed func(io.Writer) error) error {
	rep.Version = service.ReadVersion().String()
	if err := rep.Write(out); err != nil {
		return err
	}
	if err := printed(stdout); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "report: %s\n", filepath.Join(out, "report.html")) // printed would have failed
	if !rep.Verdict.Pass && !rep.Interrupted {
		return errVerdict
	}
	return nil
}

// checkOut refuses a directory for the report that cannot be one, before hours are
// measured for it.
func checkOut(out string) error {
	info, err := os.Stat(out)
	if errors.Is(err, syscall.ENOTDIR) || err == nil && !info.IsDir() {
		return service.UsageErrorf("-out (SLUICE_OUT): %s is a file, or below one: name a directory, which is made if it is not there", out)
	}
	return nil
}

// fresh runs what writes a report into out, while none of an earlier run stands there. That
// is there again if nothing was written.
func fresh(out string, run func() error) error {
	back, err := report.SetAside(out)
	if err != nil {
		return err
	}
	return errors.Join(run(), back())
}

// freshStacks is fresh for a run of stacks in directories below out, which is its own
// meanwhile. What it needs is looked for first.
func freshStacks(out, bin string, run func() error) error {
	if err := stack.CheckPrograms(bin); err != nil {
		return service.UsageErrorf("%v", err)
	}
	release, err := stack.Hold(out)
	if err != nil {
		return err
	}
	return errors.Join(fresh(out, run), release())
}

// mostRounds of a measurement, and seeds of a run: more would take days, and some plan all
// of it before they begin.
const mostRounds = 100

// checkRounds refuses how often a flag has something done.
func checkRounds(flag string, rounds, least int) error {
	if rounds < least || rounds > mostRounds {
		return service.UsageErrorf("-%s (%s) must be %d to %d, is %d", flag, service.Variable(flag), least, mostRounds, rounds)
	}
	return nil
}

// checkTimed is checkRounds for measurements whose time can be set too.
func checkTimed(rounds int, each time.Duration) error {
	if each < time.Second || each > time.Minute {
		return service.UsageErrorf("-duration (SLUICE_DURATION) must be 1s to 1m, is %s", each)
	}
	return checkRounds("rounds", rounds, 1)
}

// listed are the names in a flag, separated by commas; none if it is empty. One that has
// something else and no name is refused: it is not for everything.
func listed(flag, text string) (names []string, err error) {
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	if text != "" && names == nil {
		return nil, service.UsageErrorf("-%s (%s) is %q, which names nothing: write names with commas between, or leave it empty", flag, service.Variable(flag), text)
	}
	return names, nil
}

// mostGateways, and workers, that a stack has.
const mostGateways = 16

// checkFleet refuses gateways and workers that a stack of its own cannot have.
func checkFleet(gateways, workers int) error {
	if gateways < 1 || gateways > mostGateways {
		return service.UsageErrorf("-gateways (SLUICE_GATEWAYS) must be 1 to %d, is %d", mostGateways, gateways)
	}
	if workers < 1 || workers > mostGateways {
		return service.UsageErrorf("-workers (SLUICE_WORKERS) must be 1 to %d, is %d", mostGateways, workers)
	}
	return nil
}

// writeSales writes the sales file of a measurement into out, which is made, and returns
// its path.
func writeSales(out string, text []byte) (path string, err error) {
	path = filepath.Join(out, "sales.yaml")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", fmt.Errorf("cannot write sales file: %w", err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return "", fmt.Errorf("cannot write sales file: %w", err)
	}
	return path, nil
}
