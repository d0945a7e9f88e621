package failpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/shared/failpoint"
)

// childVariable makes the test binary hit a failpoint instead of running tests.
const childVariable = "FAILPOINT_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		hitUntilKilled()
	}
	os.Exit(m.Run())
}

// hitUntilKilled prints a line before every hit of the environment's failpoint.
func hitUntilKilled() {
	set, err := failpoint.Load(os.Getenv, slog.New(slog.DiscardHandler), "after_commit")
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	for range 5 {
		fmt.Println("hit")
		if err := set.Hit("after_commit"); err != nil {
			os.Exit(4)
		}
	}
	os.Exit(0)
}

func TestHit_KillEndsTheProcessAtTheArmedHit(t *testing.T) {
	t.Parallel()
	for spec, hits := range map[string]int{"after_commit=kill": 1, "after_commit=kill@3": 3} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			child := exec.CommandContext(ctx, os.Args[0])
			child.Env = append(os.Environ(), childVariable+"=1", failpoint.Variable+"="+spec)
			out, err := child.Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("child ended with %v, want a signal; output %q", err, out)
			}
			status, ok := exit.Sys().(syscall.WaitStatus)
			if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
				t.Errorf("child ended with %v, want SIGKILL", exit)
			}
			if got := strings.Count(string(out), "hit"); got != hits {
				t.Errorf("child was killed at hit %d, want %d", got, hits)
			}
		})
	}
}

func TestHit_ErrorCounts(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][]bool{
		"publish=error":   {true, true, true},
		"publish=error@2": {false, true, false},
		"other=error":     {false, false, false},
		"":                {false, false, false},
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			set, err := failpoint.Parse(spec, "publish", "other")
			if err != nil {
				t.Fatal(err)
			}
			for i, fails := range want {
				if err := set.Hit("publish"); errors.Is(err, failpoint.ErrInjected) != fails {
					t.Errorf("hit %d: error %v, want one: %v", i+1, err, fails)
				}
			}
		})
	}
}

func TestParse_RefusesWhatItCannotArm(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"publsh=kill", "publish", "publish=", "publish=die", "publish=kill@0", "publish=kill@-1", "publish=kill@x",
		"publish=kill@", "publish=kill,", "publish=kill,publish=error", " publish=kill", "publish=error@9223372036854775808",
	} {
		if set, err := failpoint.Parse(spec, "publish"); err == nil || set != nil || !strings.Contains(err.Error(), failpoint.Variable) {
			t.Errorf("Parse(%q) = %v, %v, want an error that names %s", spec, set, err, failpoint.Variable)
		}
	}
}

func TestLoad_WarnsOnlyWhenArmed(t *testing.T) {
	t.Parallel()
	for spec, warns := range map[string]bool{"": false, "publish=error": true} {
		var logged bytes.Buffer
		set, err := failpoint.Load(func(string) string { return spec }, slog.New(slog.NewTextHandler(&logged, nil)), "publish")
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(logged.String(), "level=WARN"); got != warns {
			t.Errorf("spec %q: warned %v, want %v: %s", spec, got, warns, logged.String())
		}
		if (set != nil) != warns {
			t.Errorf("spec %q: set %v", spec, set)
		}
	}
}

func TestHit_NilSetIsFree(t *testing.T) {
	var set *failpoint.Set
	if n := testing.AllocsPerRun(100, func() { _ = set.Hit("publish") }); n != 0 {
		t.Errorf("a hit without armed points allocates %v times", n)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "a=kill", "a=error@2,b=kill", "a=kill@0", "=,=@", "a=kill@99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		set, err := failpoint.Parse(spec, "a", "b")
		if err != nil && set != nil {
			t.Errorf("Parse(%q) gives a set beside the error", spec)
		}
		if err == nil && (set == nil) != (spec == "") {
			t.Errorf("Parse(%q) = %v", spec, set)
		}
	})
}
