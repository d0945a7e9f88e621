package main

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"sluice/shared/service"
)

func TestRun_HelpAndUnknownCommandsListTheCommands(t *testing.T) {
	t.Parallel()
	b := &bench{t: t}
	out := b.run("-h")
	_, unknown := b.try("aply", "sales.yaml")
	_, none := b.try()
	if !errors.Is(unknown, service.ErrUsage) || !errors.Is(none, service.ErrUsage) {
		t.Fatalf("errors %v and %v, want usage errors", unknown, none)
	}
	for _, c := range commands() {
		for where, text := range map[string]string{"help": out, "unknown command": unknown.Error(), "no command": none.Error()} {
			if !strings.Contains(text, c.name) {
				t.Errorf("%s does not list %s:\n%s", where, c.name, text)
			}
		}
	}
}

func TestRun_EveryCommandHasHelp(t *testing.T) {
	t.Parallel()
	for _, c := range commands() {
		out, err := (&bench{t: t}).try(c.name, "-h")
		if !errors.Is(err, flag.ErrHelp) || !strings.Contains(out, "Usage: warmup "+c.name) || !strings.Contains(out, "SLUICE_") {
			t.Errorf("%s -h: error %v\n%s", c.name, err, out)
		}
	}
}

func TestRun_CommandsWithoutStoresOrFilesAreUsageErrors(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"migrate", "load", "verify", "apply", "apply a.yaml b.yaml", "migrate now", "load -x", "token ann"} {
		if _, err := (&bench{t: t}).try(strings.Fields(args)...); !errors.Is(err, service.ErrUsage) {
			t.Errorf("warmup %s: error %v, want a usage error", args, err)
		}
	}
}
