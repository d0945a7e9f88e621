package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/calibrate"
	"sluice/shared/service"
)

// calibrated is what a test reads of the report.
type calibrated struct {
	Verdict struct{ Pass bool }
	Orders  struct{ Total int }
	Words   []string
	Config  struct {
		Tries []struct {
			PerSecond float64 `json:"attempts_per_s"`
			Sent      int     `json:"sent"`
			Admission float64 `json:"reached_admission_per_s"`
			Verdict   string  `json:"verdict"`
		}
		Found struct {
			Pass float64 `json:"pass_per_s"`
		}
		Limits    *struct{ Gateways int }
		Command   string
		Confirmed *struct {
			PerSecond float64 `json:"attempts_per_s"`
			Verdict   string  `json:"verdict"`
			Busy      float64
			Witnessed struct {
				RetryAfter map[string]int `json:"retry_after"`
			}
		}
	}
}

func readCalibrated(t *testing.T, out string) (rep calibrated) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(out, "report.json"))
	must(t, err)
	must(t, json.Unmarshal(content, &rep))
	return rep
}

// How much the machine of this test bears is nobody's promise: only that every rate gets
// its verdict, and that what is recommended is what was found.
func TestCalibrate_QuickTriesRatesAndRecommendsLimits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	err := calibrateCommand(ctx, []string{"-quick", "-out", out, "-bin", programs(t)}, func(string) string { return "" }, &stdout, &stderr)
	t.Logf("%s\n%s", &stdout, &stderr)
	must(t, err)
	rep := readCalibrated(t, out)
	if len(rep.Config.Tries) < 2 || len(rep.Words) == 0 || !rep.Verdict.Pass || rep.Orders.Total == 0 {
		t.Fatalf("%+v", rep)
	}
	for _, try := range rep.Config.Tries {
		if try.Verdict == "" || try.Sent == 0 || try.Verdict == "pass" && try.Admission < 0.9*try.PerSecond {
			t.Errorf("try %+v", try)
		}
	}
	if rep.Config.Found.Pass == 0 { // a machine that does everything else
		if rep.Config.Limits != nil {
			t.Errorf("limits without a rate that passes: %+v", rep.Config.Limits)
		}
		return
	}
	if rep.Config.Limits == nil || !strings.Contains(stdout.String(), rep.Config.Command) || rep.Config.Confirmed == nil {
		t.Fatalf("limits %+v by %q, confirmed %+v", rep.Config.Limits, rep.Config.Command, rep.Config.Confirmed)
	}
	for told, n := range rep.Config.Confirmed.Witnessed.RetryAfter {
		if told != "1" {
			t.Errorf("%d were told to come again after %q s, the words say 1", n, told)
		}
	}
	if c := rep.Config.Confirmed; c.Verdict == "pass" && c.Busy == 0 {
		t.Errorf("nobody was refused at %v a second, above what admission lets through", c.PerSecond)
	}
}

// The recommendation reckons with what a gateway does unless it is told otherwise.
func TestCalibrate_KnowsAGatewaysDefaults(t *testing.T) {
	t.Parallel()
	help, err := exec.Command(filepath.Join(programs(t), "gateway"), "-help").CombinedOutput()
	if err != nil {
		t.Logf("gateway -help: %v", err) // it may say so by its exit
	}
	for flag, usually := range map[string]string{"admit-wait": calibrate.DefaultWait.String(), "reserve-batch": strconv.Itoa(calibrate.Batch)} {
		_, about, found := strings.Cut(string(help), "-"+flag+" ")
		if about, _, _ = strings.Cut(about, "\n  -"); !found || !strings.Contains(about, "(default "+usually+")") {
			t.Errorf("-%s %q, want default %s", flag, about, usually)
		}
	}
}

func TestCalibrate_BadFlagsAreNamed(t *testing.T) {
	t.Parallel()
	mixFile := filepath.Join(t.TempDir(), "mix.yaml")
	must(t, os.WriteFile(mixFile, []byte("attempts: {sold_out: 1}\n"), 0o600))
	for says, args := range map[string][]string{
		"write 100ms":                              {"-p99", "100"},
		"-p99 must be":                             {"-p99", "0s"},
		"-start must be":                           {"-start", "NaN"},
		"-most must be -start, 500":                {"-most", "10"},
		"-start × -duration must":                  {"-start", "10"},
		"-tolerance must be":                       {"-tolerance", "0"},
		"-duration must be":                        {"-duration", "10ms"},
		"-timeout must be at least":                {"-timeout", "1ms"},
		"-processes must be":                       {"-processes", "0"},
		"-connections must be":                     {"-connections", "0"},
		"-gateways":                                {"-gateways", "17"},
		"-workers":                                 {"-workers", "0"},
		"-whole-mix (SLUICE_WHOLE_MIX) needs -mix": {"-whole-mix"},
		"needs -mix":                               {"-stack", "out/up/stack.json"},
		"-mix (SLUICE_MIX)":                        {"-mix", "no-such-file"},
		"attempts.buyers must be":                  {"-mix", mixFile},
	} {
		err := calibrateCommand(t.Context(), args, func(string) string { return "" }, new(bytes.Buffer), new(bytes.Buffer))
		if !errors.Is(err, service.ErrUsage) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want a usage error with %q", args, err, says)
		}
	}
}
