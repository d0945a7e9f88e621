package profiles

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"
)

func TestTop_GivesTimeToTheInnermostPackageThatTellsWhatItWasFor(t *testing.T) {
	t.Parallel()
	functions := make(map[string]*profile.Location)
	var p profile.Profile
	p.SampleType = []*profile.ValueType{{Type: "samples"}, {Type: "cpu", Unit: "nanoseconds"}}
	sample := func(spent int64, stack ...string) {
		s := &profile.Sample{Value: []int64{1, spent}}
		for _, name := range stack {
			if functions[name] == nil {
				functions[name] = &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: name}}}}
			}
			s.Location = append(s.Location, functions[name])
		}
		p.Sample = append(p.Sample, s)
	}
	sample(50, "syscall.write", "net.(*conn).Write", "github.com/valyala/fasthttp.writeResponse", "github.com/valyala/fasthttp.(*Server).serveConn")
	sample(30, "runtime.mallocgc", "sluice/gateway/internal/funnel.(*Line).Enter", "github.com/valyala/fasthttp.(*Server).serveConn")
	sample(15, "runtime.futex", "runtime.findRunnable", "runtime.mcall")
	sample(5, "syscall.write", "sluice/gateway/internal/funnel.(*Line).Enter")
	got := top(&p, 3)
	want := Top{
		Seconds:  100e-9,
		Own:      []Share{{"syscall.write", 0.55}, {"runtime.mallocgc", 0.30}, {"runtime.futex", 0.15}},
		Packages: []Share{{"github.com/valyala/fasthttp", 0.5}, {"sluice/gateway/internal/funnel", 0.35}, {"runtime.mcall", 0.15}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if words := Words(append(got.Packages, Share{"github.com/nats-io/nats%2ego.(*Conn).Flush", 0.01})); words != "50 % valyala/fasthttp, 35 % internal/funnel, 15 % runtime.mcall, 1 % nats.go.(*Conn).Flush" {
		t.Errorf("in words: %s", words)
	}
}

// Not parallel: a process has one CPU profile at a time.
func TestSelf_ProfilesThisProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profiles", "self.pb.gz")
	stop, err := Self(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Self(path + ".2"); err == nil {
		t.Error("two at a time")
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, 3); err != nil {
		t.Error(err)
	}
	if _, err := Read(path+".2", 3); err == nil || !strings.Contains(err.Error(), ".2") {
		t.Errorf("no profile: %v", err)
	}
}
