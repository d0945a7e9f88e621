package service_test

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/service"
)

type settings struct {
	URL   string
	Drain time.Duration
	Bound bool
}

func newFlags() (*flag.FlagSet, *settings) {
	s := &settings{}
	fs := flag.NewFlagSet("gateway", flag.ContinueOnError)
	fs.StringVar(&s.URL, "redis-url", "redis://default", "where Redis is")
	fs.DurationVar(&s.Drain, "drain", 5*time.Second, "how long to serve on")
	fs.BoolVar(&s.Bound, "bound", false, "whether it is bound")
	return fs, s
}

func environment(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestParse_FlagBeatsEnvironmentBeatsDefault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want settings
	}{
		"defaults":              {nil, nil, settings{"redis://default", 5 * time.Second, false}},
		"environment":           {nil, map[string]string{"SLUICE_REDIS_URL": "redis://env", "SLUICE_DRAIN": "1s", "SLUICE_BOUND": "true"}, settings{"redis://env", time.Second, true}},
		"flags":                 {[]string{"-redis-url", "redis://flag", "--drain=2s", "-bound"}, map[string]string{"SLUICE_REDIS_URL": "redis://env", "SLUICE_DRAIN": "1s"}, settings{"redis://flag", 2 * time.Second, true}},
		"empty is not set":      {nil, map[string]string{"SLUICE_REDIS_URL": ""}, settings{"redis://default", 5 * time.Second, false}},
		"flag hides a bad one":  {[]string{"-drain", "2s"}, map[string]string{"SLUICE_DRAIN": "soon"}, settings{"redis://default", 2 * time.Second, false}},
		"flag set to its zero":  {[]string{"-redis-url", "", "-bound=false"}, map[string]string{"SLUICE_REDIS_URL": "x", "SLUICE_BOUND": "true"}, settings{"", 5 * time.Second, false}},
		"others are left alone": {nil, map[string]string{"REDIS_URL": "x", "SLUICE_LISTEN": "y"}, settings{"redis://default", 5 * time.Second, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs, got := newFlags()
			if err := service.Parse(fs, c.args, environment(c.env)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("settings differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse_ErrorsNameFlagAndVariableInOneLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		want []string
	}{
		"bad flag":        {[]string{"-drain", "soon"}, nil, []string{"-drain", "SLUICE_DRAIN", `"soon"`, "write a duration such as 100ms, 10s or 5m"}},
		"no unit":         {[]string{"-drain", "100"}, nil, []string{"-drain", "SLUICE_DRAIN", "write 100ms, 100s or 100m"}},
		"no unit either":  {nil, map[string]string{"SLUICE_DRAIN": "1.5"}, []string{"-drain", "write 1.5ms, 1.5s or 1.5m"}},
		"bad bool flag":   {[]string{"-bound=perhaps"}, nil, []string{"-bound", "SLUICE_BOUND", `"perhaps"`, "write true or false"}},
		"bad variable":    {nil, map[string]string{"SLUICE_DRAIN": "soon"}, []string{"-drain", "SLUICE_DRAIN", `"soon"`}},
		"unknown flag":    {[]string{"-derain", "1s"}, nil, []string{"-derain"}},
		"missing value":   {[]string{"-drain"}, nil, []string{"-drain"}},
		"unknown operand": {[]string{"-bound", "drain"}, nil, []string{`"drain"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fs, _ := newFlags()
			var printed bytes.Buffer
			fs.SetOutput(&printed)
			err := service.Parse(fs, c.args, environment(c.env))
			if !errors.Is(err, service.ErrUsage) {
				t.Fatalf("error %v, want a usage error", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not name %s", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") || printed.Len() > 0 {
				t.Errorf("error %q with %q printed, want one line and nothing printed", err, printed.String())
			}
		})
	}
}

func TestParseOperands_StandAnywhere(t *testing.T) {
	t.Parallel()
	fs, got := newFlags()
	operands, err := service.ParseOperands(fs, []string{"phone", "-drain", "1s", "tablet", "-bound"}, environment(nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"phone", "tablet"}, operands); diff != "" {
		t.Errorf("operands differ (-want +got):\n%s", diff)
	}
	if got.Drain != time.Second || !got.Bound {
		t.Errorf("flags between operands are lost: %+v", got)
	}
}

func TestParse_HelpShowsFlagsAndHowToNameVariables(t *testing.T) {
	t.Parallel()
	fs, _ := newFlags()
	var printed bytes.Buffer
	fs.SetOutput(&printed)
	if err := service.Parse(fs, []string{"-h"}, environment(nil)); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("error %v, want flag.ErrHelp", err)
	}
	for _, part := range []string{"-redis-url", "where Redis is", "default 5s", "SLUICE_SOME_FLAG"} {
		if strings.Count(printed.String(), part) != 1 {
			t.Errorf("help does not say %q once:\n%s", part, printed.String())
		}
	}
}
