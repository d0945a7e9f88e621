package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// keptStream answers with what the test says.
type keptStream struct {
	mu  sync.Mutex
	now Standing
	err error
}

func (k *keptStream) Upkeep(context.Context) (Standing, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now, k.err
}

func (k *keptStream) becomes(now Standing, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now, k.err = now, err
}

func TestUpkeep_TellsWhenTheStreamIsNotTheOneBefore(t *testing.T) {
	t.Parallel()
	first := Standing{Incarnation: "a", LastSeq: 10}
	for name, tc := range map[string]struct {
		next     Standing
		err      error
		poke     bool
		changed  int
		replaced float64
	}{
		"it goes on":                        {next: Standing{"a", 11}},
		"it was made anew":                  {next: Standing{"b", 0}, changed: 1, replaced: 1},
		"an older copy":                     {next: Standing{"a", 9}, changed: 1, replaced: 1},
		"the server is gone":                {next: Standing{}, err: errors.New("gone")},
		"reconnected, perhaps an old copy":  {next: Standing{"a", 12}, poke: true, changed: 1},
		"reconnected to one that was wiped": {next: Standing{"b", 0}, poke: true, changed: 1, replaced: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				registry := prometheus.NewRegistry()
				u := NewUpkeep(NewMetrics(registry), slog.New(slog.DiscardHandler))
				k := &keptStream{now: first}
				ctx, cancel := context.WithCancel(t.Context())
				changed := 0
				done := make(chan struct{})
				go func() {
					defer close(done)
					u.Run(ctx, k, func() { changed++ })
				}()
				time.Sleep(3*upkeepEvery + upkeepEvery/2)
				synctest.Wait()
				if changed != 0 {
					t.Errorf("changed at the start")
				}
				k.becomes(tc.next, tc.err)
				if tc.poke {
					u.Poke()
				}
				time.Sleep(3 * upkeepEvery)
				cancel()
				<-done
				if n := counted(t, registry, "sluice_stream_replaced_total"); changed != tc.changed || n != tc.replaced {
					t.Errorf("changed %d times, replaced %v; want %d, %v", changed, n, tc.changed, tc.replaced)
				}
			})
		})
	}
}

// counted reads a counter without labels.
func counted(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func TestUpkeep_AfterAnOutageComparesWithBeforeIt(t *testing.T) {
	t.Parallel()
	u := NewUpkeep(NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
	k := &keptStream{now: Standing{"a", 10}}
	changed := 0
	look := func() { _ = u.look(t.Context(), k, func() { changed++ }) }
	look()
	k.becomes(Standing{}, errors.New("gone"))
	look()
	k.becomes(Standing{"a", 9}, nil)
	look()
	if changed != 1 {
		t.Errorf("changed %d times", changed)
	}
}
