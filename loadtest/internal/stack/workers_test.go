package stack

import (
	"slices"
	"strings"
	"testing"
)

func TestWorkers_AreAddedAndSetAndKeepWhatTheyWereTold(t *testing.T) {
	t.Parallel()
	ctx := within(t)
	config := fakeConfig(t, "sales: []", "")
	config.WorkerSettings = []string{"SLUICE_CONSUMERS=1"}
	stack := start(ctx, t, config)
	has := func(worker int, want string) {
		t.Helper()
		var consumers []string
		for _, v := range strings.Split(environment(ctx, t, stack.Info().Workers[worker].AdminURL), "\n") {
			if strings.HasPrefix(v, "SLUICE_CONSUMERS=") {
				consumers = append(consumers, v)
			}
		}
		if !slices.Equal(consumers, []string{"SLUICE_CONSUMERS=" + want}) {
			t.Errorf("worker %d has %q, want %s", worker, consumers, want)
		}
	}
	has(0, "1")
	added, err := stack.StartWorker(ctx, "SLUICE_CONSUMERS=2")
	if err != nil || added != 1 {
		t.Fatalf("worker %d, %v", added, err)
	}
	before := stack.Info().Workers
	for range 4 { // a worker that is set again and again is not one that keeps dying
		if err := stack.SetWorker(ctx, 0, "SLUICE_CONSUMERS=3"); err != nil {
			t.Fatal(err)
		}
	}
	if err := stack.Kill(ctx, "worker", 1); err != nil { // supervised like the others
		t.Fatal(err)
	}
	has(0, "3")
	has(1, "2")
	for i, w := range stack.Info().Workers {
		if w.AdminURL != before[i].AdminURL || w.PID == before[i].PID {
			t.Errorf("worker %d is %+v, was %+v", i, w, before[i])
		}
	}
	if err := stack.SetWorker(ctx, 2); err == nil {
		t.Error("a worker that is not there was set")
	}
}
