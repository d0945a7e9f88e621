package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// promtool runs the program that make setup has put into bin.
func promtool(t *testing.T, args ...string) (output string, err error) {
	t.Helper()
	path, err := filepath.Abs("../bin/promtool")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath(path); err != nil {
		t.Fatalf("promtool is missing: run 'make setup': %v", err)
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	return string(out), err
}

func TestRules_AreRightAndPassTheirTests(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"check", "rules", "../deploy/prometheus/rules.yml"}, {"test", "rules", "../deploy/prometheus/rules_test.yml"},
	} {
		if out, err := promtool(t, args...); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}
