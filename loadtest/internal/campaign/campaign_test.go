package campaign

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/pacer"
)

// The test program is its own sender when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == SenderCommand {
		if err := Send(context.Background(), nil, nil, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func config(processes int, perSecond float64, lasts time.Duration) Config {
	return Config{
		Mix:       mix.Usual(),
		Arrivals:  pacer.Arrivals{Kind: pacer.KindConstant, PerSecond: []float64{perSecond}, Lasts: lasts},
		Processes: processes, Connections: 16, Timeout: 5 * time.Second,
	}
}

func TestRun_SendersShareTheAttemptsAndTheirLatenciesAreMerged(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d processes", processes), func(t *testing.T) {
			t.Parallel()
			g := startGateway(t, 30)
			var out bytes.Buffer
			o, err := Run(t.Context(), config(processes, 1000, 1200*time.Millisecond), g.target(t), &out)
			if err != nil {
				t.Fatal(err)
			}
			if o.Planned != 1200 || o.Sent != 1200 || g.asked.Load() != 1200 || len(o.Senders) != processes || o.Interrupted {
				t.Fatalf("%d asked, outcome %+v", g.asked.Load(), o)
			}
			if o.Counts["in_stock.accepted"] != 30 || len(o.Winners) != 30 || o.Latency["in_stock.accepted"].Count != 30 || o.By("sold_out") < 1000 || o.Counts["early.not_open"] == 0 {
				t.Errorf("counts %v, latency %v, %d winners", o.Counts, o.Latency, len(o.Winners))
			}
			if o.Follows.Tickets == 0 || o.Follows.Outcomes != o.Follows.Tickets || o.Latency[ClassPolled].Count+o.Latency[ClassHeld].Count == 0 {
				t.Errorf("follows %+v, latency %v", o.Follows, o.Latency)
			}
			if len(o.Steps) != 1 || o.Steps[0].PerSecond != 1000 || o.Steps[0].Answered != 1200 || o.Steps[0].Latency["sold_out"].Count != int64(o.By("sold_out")) {
				t.Errorf("steps %+v", o.Steps)
			}
			if o.Usage.Seconds > o.Took.Seconds() {
				t.Errorf("cores of %+v, though the attack took %s", o.Usage, o.Took)
			}
			if !strings.Contains(out.String(), " of 1200 answered") {
				t.Errorf("progress %q", &out)
			}
		})
	}
}

func TestRun_EndsWithItsContextAndReportsWhatWasSent(t *testing.T) {
	t.Parallel()
	g := startGateway(t, 1<<30)
	ctx, cancel := context.WithCancel(t.Context())
	g.attempt = func(*fasthttp.RequestCtx) bool {
		if g.asked.Load() == 50 {
			cancel()
		}
		return false
	}
	o, err := Run(ctx, config(1, 100, time.Hour), g.target(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !o.Interrupted || o.Sent < 50 || int64(o.Sent) != g.asked.Load() || o.Planned != 360_000 || len(o.Winners) != o.By("accepted") || o.Follows.Outcomes != o.Follows.Tickets {
		t.Errorf("%d asked, outcome %+v", g.asked.Load(), o)
	}
	if o.Senders[0].Died != "" {
		t.Errorf("sender %+v", o.Senders[0])
	}
}

// What is left of an hour is no reason to wait for a sender that does not hear.
func TestRun_ASenderThatDoesNotEndWhenItIsToldIsKilled(t *testing.T) {
	t.Parallel()
	g := startGateway(t, 1<<30)
	ctx, cancel := context.WithCancel(t.Context())
	c, target := config(1, 100, time.Hour), g.target(t)
	c.Timeout = time.Second
	pids := make(chan []int, 1)
	target.Started = func(all []int) { pids <- all }
	var once sync.Once
	g.attempt = func(*fasthttp.RequestCtx) bool {
		once.Do(func() {
			pid := (<-pids)[0]
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Error(err)
			}
			awaitStopped(t, pid) // the signal is delivered a moment later: what is told before that is heard
			cancel()
		})
		return false
	}
	r := &run{Config: c, Target: target, out: io.Discard, schedule: c.Arrivals.Schedule()}
	o, err := r.run(ctx)
	if err != nil || !o.Interrupted || !strings.Contains(o.Senders[0].Died, "killed") || o.Limit != LimitUnknown {
		t.Errorf("%v, outcome %+v", err, o)
	}
}

// awaitStopped waits until the kernel runs no thread of a process any more.
func awaitStopped(t *testing.T, pid int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(tasks) == 0 {
		t.Errorf("process %d has no threads: %v", pid, err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		running := slices.ContainsFunc(tasks, func(path string) bool {
			stat, err := os.ReadFile(path)
			_, state, _ := strings.Cut(string(stat), ") ")
			return err == nil && !strings.HasPrefix(state, "T")
		})
		if !running {
			return
		}
	}
	t.Errorf("process %d does not stop", pid)
}

func TestRun_ASenderThatIsKilledIsToldOfAndTheOthersReport(t *testing.T) {
	t.Parallel()
	g := startGateway(t, 1<<30)
	pids := make(chan []int, 1)
	target := g.target(t)
	target.Started = func(all []int) { pids <- all }
	var once sync.Once
	g.attempt = func(*fasthttp.RequestCtx) bool {
		if g.asked.Load() > 800 { // both have told how far they are
			once.Do(func() {
				if err := syscall.Kill((<-pids)[0], syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			})
		}
		return false
	}
	o, err := Run(t.Context(), config(2, 500, 3*time.Second), target, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Senders) != 2 || !strings.Contains(o.Senders[0].Died, "killed") || o.Senders[1].Died != "" || o.Senders[1].Sent != 750 {
		t.Errorf("senders %+v", o.Senders)
	}
	if o.Interrupted || o.Sent >= 1500 || o.Senders[0].Sent == 0 || o.Latency["sold_out.sold_out"].Count >= int64(o.Counts["sold_out.sold_out"]) {
		t.Errorf("outcome %+v", o)
	}
}

func TestRun_AGatewayThatIsGoneIsAFaultThatIsQuoted(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target := targetOf(t, "http://"+listener.Addr().String())
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	o, err := Run(t.Context(), config(1, 200, 500*time.Millisecond), target, io.Discard)
	if err != nil || o.By("fault") != 100 || !strings.Contains(o.Fault, "refused") {
		t.Errorf("%v, outcome %+v", err, o)
	}
}

// Every attempt takes longer than there is time: what cannot be sent is given up.
func TestRun_IsBoundedByTime(t *testing.T) {
	t.Parallel()
	g := startGateway(t, 0)
	g.attempt = func(*fasthttp.RequestCtx) bool {
		<-time.After(200 * time.Millisecond) // the slow server under test
		return false
	}
	c := config(1, 10_000, 200*time.Millisecond)
	c.Timeout, c.Connections = time.Second, 4
	o, err := Run(t.Context(), c, g.target(t), io.Discard)
	if err != nil || o.Planned != 2000 || o.Sent == 0 || o.Sent > 200 || o.Interrupted || o.Late.Kept() {
		t.Errorf("%v, outcome %+v", err, o)
	}
}

func TestRun_WhatCannotBeRunIsRefused(t *testing.T) {
	t.Parallel()
	target := targetOf(t, "http://127.0.0.1:1")
	for name, spoil := range map[string]func(c *Config, t *Target){
		"mix":                         func(c *Config, _ *Target) { c.Mix.Users = 0 },
		"arrivals":                    func(c *Config, _ *Target) { c.Arrivals.Kind = "" },
		"no process":                  func(c *Config, _ *Target) { c.Processes = 0 },
		"no program":                  func(_ *Config, t *Target) { t.Program = "" },
		"no connection":               func(c *Config, _ *Target) { c.Connections = 0 },
		"no time":                     func(c *Config, _ *Target) { c.Timeout = 0 },
		"no gateway":                  func(_ *Config, t *Target) { t.Stack.Gateways = nil },
		"no such program":             func(_ *Config, t *Target) { t.Program = "/does/not/exist" },
		"a program that is no sender": func(_ *Config, t *Target) { t.Program = "/bin/true" },
	} {
		c, to := config(1, 10, time.Second), target
		spoil(&c, &to)
		if _, err := Run(t.Context(), c, to, io.Discard); err == nil {
			t.Errorf("%s: is run", name)
		}
	}
}

func TestRun_EachStepHasItsOwnLatenessCoresAndLimit(t *testing.T) {
	t.Parallel()
	g := startGateway(t, 1<<30)
	g.attempt = func(ctx *fasthttp.RequestCtx) bool {
		if g.asked.Load() <= 120 { // the first of the second step overtake the last of the first
			return false
		}
		ctx.SetStatusCode(429)
		fmt.Fprint(ctx, `{"type":"/problems/too-many-requests"}`)
		return true
	}
	c := config(2, 0, 2*time.Second)
	c.Arrivals.Kind, c.Arrivals.PerSecond = pacer.KindStepped, []float64{100, 200}
	o, err := Run(t.Context(), c, g.target(t), io.Discard)
	if err != nil || len(o.Steps) != 2 {
		t.Fatalf("%v, outcome %+v", err, o)
	}
	first, second := o.Steps[0], o.Steps[1]
	if first.Late.Attempts != 100 || second.Late.Attempts != 200 || first.Limit == LimitLimits || second.Limit != LimitLimits {
		t.Errorf("steps %+v", o.Steps)
	}
	if sum := first.Usage.Seconds + second.Usage.Seconds; first.Usage.Seconds <= 0 || second.Usage.Seconds <= 0 || sum < o.Usage.Seconds-0.01 || sum > o.Usage.Seconds+0.01 {
		t.Errorf("cores over %v and %v s, of all %v", first.Usage.Seconds, second.Usage.Seconds, o.Usage.Seconds)
	}
	if table, several := o.stepsTable(); !several || len(table.Rows[1]) != len(table.Head) || table.Rows[1][6] != "limits" {
		t.Errorf("table %+v", table)
	}
}
