package collect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
)

const testPatience = 30 * time.Second // the machine may be busy

func await(t *testing.T, what string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testPatience); !come(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come", what)
		}
	}
}

// busy is a process that does nothing but use CPU, until end.
func busy(t *testing.T) (pid int, end func()) {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = cmd.Process.Kill() // a second end finds it gone
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	return cmd.Process.Pid, end
}

func (w *Watcher) read(r running) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.cpu.spans[r]; s != nil {
		return s.now - s.before
	}
	return 0
}

func TestWatch_AProcessThatTakesAnothersPlaceAddsToIt(t *testing.T) {
	t.Parallel()
	var gateway atomic.Int64
	first, end := busy(t)
	gateway.Store(int64(first))
	watcher, err := Watch(t.Context(), Watched{Stack: func() stack.Info {
		return stack.Info{Gateways: []stack.GatewayInfo{{PID: int(gateway.Load())}}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the first one's CPU time", func() bool { return watcher.read(running{"gateway-0", first, false}) > 0 })
	end()
	second, _ := busy(t)
	gateway.Store(int64(second))
	await(t, "the second one's CPU time", func() bool { return watcher.read(running{"gateway-0", second, false}) > 0 })
	seen := watcher.Stop(t.Context(), 1000)
	both := watcher.read(running{"gateway-0", first, false}) + watcher.read(running{"gateway-0", second, false})

	names := make([]string, len(seen.Processes))
	for i, p := range seen.Processes {
		names[i] = p.Name
	}
	if !slices.Equal(names, []string{"gateway-0", "loadtest", "other"}) {
		t.Fatalf("processes %v", names)
	}
	p := seen.Processes[0]
	if p.CPUSeconds != rounded(both.Seconds()) || p.Cores <= 0 || p.MicrosPerTry != rounded(float64(both.Microseconds())/1000) || p.ResidentMB <= 0 {
		t.Errorf("%+v, want %s", p, both)
	}
}

func TestWatch_WhatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	_, err := Watch(t.Context(), Watched{Stack: func() stack.Info { return stack.Info{Redis: stack.StoreInfo{PID: 1 << 22}} }})
	if err == nil {
		t.Error("a process that is not there is watched")
	}
}

// told are the metrics of a worker that made so many orders, ten in a transaction.
func told(orders int) string {
	return fmt.Sprintf(`# TYPE sluice_orders_total counter
sluice_orders_total{fate="known"} 1
sluice_orders_total{fate="ordered"} %[1]d
# TYPE sluice_settled_total counter
sluice_settled_total %[1]d
# TYPE sluice_order_batch_size histogram
sluice_order_batch_size_bucket{le="+Inf"} %[2]d
sluice_order_batch_size_sum %[1]d
sluice_order_batch_size_count %[2]d
# TYPE sluice_order_batch_max gauge
sluice_order_batch_max 500
# TYPE sluice_pace_ceiling_orders_per_second gauge
sluice_pace_ceiling_orders_per_second 100000
`, orders, orders/10) + paceMetrics
}

func TestWatch_SaysWhatWorkersDidWhileTheyWereWatched(t *testing.T) {
	t.Parallel()
	var orders, asked atomic.Int64
	orders.Store(1000) // before
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, told(int(orders.Load())))
	}))
	t.Cleanup(worker.Close)
	watcher, err := Watch(t.Context(), Watched{
		Name: "sale", Stack: func() stack.Info { return stack.Info{Workers: []stack.WorkerInfo{{AdminURL: worker.URL}}} },
	})
	if err != nil {
		t.Fatal(err)
	}
	seenBy := func(n int64) {
		from := asked.Load()
		orders.Store(n)
		await(t, "two readings", func() bool { return asked.Load() >= from+2 })
	}
	seenBy(3000)
	watcher.Mark("started again")
	seenBy(500)
	orders.Store(600) // read by Stop at the latest
	seen := watcher.Stop(t.Context(), 0)

	if len(seen.Settings) != 1 || seen.Writing <= 0 || seen.Writing > testPatience {
		t.Fatalf("settings %+v, writing %s", seen.Settings, seen.Writing)
	}
	got := seen.Settings[0]
	commits := rounded(260 / seen.Writing.Seconds())
	want := report.WorkerSettings{
		Name: "worker-0", Batch: 500, Consumers: 2, Ceiling: 100_000, Pace: 4000, Target: 50, P90: 40, LimitedBy: "latency",
		Orders: 2600, PerCommit: 10, Commits: commits,
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if len(seen.Pace.Samples) < 2 || len(seen.Pace.Marks) != 1 || seen.Pace.Name != "sale" || !seen.Pace.Samples[0].Told {
		t.Errorf("pace %+v", seen.Pace)
	}
	var rep report.Report
	seen.Show(&rep, 5200)
	if rep.Writes.Rows != 5200 || rep.DBWritesPerS != rep.Writes.PerSecond() || rep.DBWritesPerS <= 0 || len(rep.Paces) != 1 {
		t.Errorf("report %+v", rep)
	}
}

func TestWatch_NothingWrittenTakesNoTime(t *testing.T) {
	t.Parallel()
	worker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, told(70)) }))
	t.Cleanup(worker.Close)
	watcher, err := Watch(t.Context(), Watched{Stack: func() stack.Info { return stack.Info{Workers: []stack.WorkerInfo{{AdminURL: worker.URL}}} }})
	if err != nil {
		t.Fatal(err)
	}
	seen := watcher.Stop(t.Context(), 10)
	var rep report.Report
	seen.Show(&rep, 12)
	if seen.Writing != 0 || rep.DBWritesPerS != 0 || rep.Settings[0].Orders != 0 {
		t.Errorf("%+v", rep)
	}
}

func TestWatcher_KeepsABoundedPaceOfALongRun(t *testing.T) {
	t.Parallel()
	var w Watcher
	const hours = 40_000 // looks
	for i := range hours {
		w.keep(report.PaceSample{T: float64(i)})
	}
	kept := w.pace.Samples
	if len(kept) >= mostPace || len(kept) < mostPace/2 || kept[len(kept)-1].T < hours-100 || kept[0].T > 100 {
		t.Errorf("%d samples, from %v to %v", len(kept), kept[0].T, kept[len(kept)-1].T)
	}
	for i := 2; i < len(kept); i++ {
		if kept[i].T-kept[i-1].T != kept[1].T-kept[0].T {
			t.Fatalf("uneven at %d: %v", i, kept[i-2:i+1])
		}
	}
}
