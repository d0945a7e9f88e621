package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/shared/service"
)

func TestMeasurements_RefuseAReportDirectoryThatIsAFileBeforeTheyBegin(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report")
	must(t, os.WriteFile(file, nil, 0o600))
	for name, measure := range map[string]do{
		"demo": demoCommand, "attack": attackCommand, "calibrate": calibrateCommand, "compare": compareCommand,
		"chaos": chaosCommand, "bench": benchCommand, "pace": paceCommand, "slow": slowCommand,
	} {
		for _, out := range []string{file, filepath.Join(file, "below")} {
			refusesBeforeItBegins(t, name, measure, "-out (SLUICE_OUT): "+out+" is a file", "-out", out)
		}
	}
}

func TestMeasurements_RefuseAStackThatCannotBeBeforeTheyBegin(t *testing.T) {
	t.Parallel()
	for name, measure := range map[string]do{"attack": attackCommand, "calibrate": calibrateCommand} {
		refusesBeforeItBegins(t, name, measure, "-gateways (SLUICE_GATEWAYS) must be 1 to 16, is 0", "-gateways", "0")
		refusesBeforeItBegins(t, name, measure, "-workers (SLUICE_WORKERS) must be 1 to 16, is 17", "-workers", "17")
	}
}

func TestMeasurements_RefuseMoreRoundsThanAnybodyWaitsFor(t *testing.T) {
	t.Parallel()
	for name, measure := range map[string]do{"bench": benchCommand, "compare": compareCommand, "pace": paceCommand, "capacity": capacityCommand, "slow": slowCommand} {
		for _, rounds := range []string{"-1", "101", "9223372036854775807"} {
			refusesBeforeItBegins(t, name, measure, "to 100, is "+rounds, "-rounds", rounds, "-bin", t.TempDir(), "-out", t.TempDir())
		}
	}
}

func TestMeasurements_RefuseNamesThatAreNone(t *testing.T) {
	t.Parallel()
	for name, measure := range map[string]do{"chaos": chaosCommand, "mutants": mutantsCommand, "pace": paceCommand, "bench": benchCommand, "compare": compareCommand} {
		for _, only := range []string{",", " ", " , ,"} {
			refusesBeforeItBegins(t, name, measure, "-only (SLUICE_ONLY)", "-only", only, "-bin", t.TempDir(), "-out", t.TempDir())
		}
	}
}

func refusesBeforeItBegins(t *testing.T, name string, measure do, says string, args ...string) {
	t.Helper()
	var stdout bytes.Buffer
	err := measure(t.Context(), args, func(string) string { return "" }, &stdout, new(bytes.Buffer))
	if !errors.Is(err, service.ErrUsage) || !strings.Contains(err.Error(), says) || stdout.Len() > 0 {
		t.Errorf("%s %v: %v after %q, want a usage error with %q", name, args, err, &stdout, says)
	}
}
