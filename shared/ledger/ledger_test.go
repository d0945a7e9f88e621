package ledger

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"sluice/shared/devstack"
)

func TestMain(m *testing.M) {
	// What is found is told as a history that a test can replay, which says more than a file of bits.
	_ = flag.Set("rapid.nofailfile", "true")
	_ = flag.Set("rapid.shrinktime", "10s")
	os.Exit(devstack.Main(m))
}

// settings are sales as histories begin with.
var settings = rapid.Custom(func(t *rapid.T) Setting {
	return Setting{
		Total: rapid.SampledFrom([]int64{3, 2, 1, 0, 4}).Draw(t, "total"), Limit: rapid.IntRange(1, 2).Draw(t, "limit"), Rebuy: rapid.Bool().Draw(t, "rebuy"),
	}
})

// histories are lists of actions, in every other round rough ones.
func histories(round, longest int) *rapid.Generator[[]Action] {
	var weighted []Do
	for _, kind := range [][]often{calm, rough}[round%2] {
		weighted = append(weighted, slices.Repeat([]Do{kind.do}, kind.n)...)
	}
	action := rapid.Custom(func(t *rapid.T) Action {
		return Action{Do: rapid.SampledFrom(weighted).Draw(t, "do"), N: rapid.IntRange(0, 107).Draw(t, "n")}
	})
	return rapid.SliceOfN(action, longest/2, longest)
}

// replayed is a finding as it is to be kept: in counterExamples.
func replayed(s Setting, history []Action, without ...Protection) string {
	w := New(s, without...)
	w.traced = true
	err := Run(w, history)
	var text strings.Builder
	fmt.Fprintf(&text, "%v\n%#v, []Action{", err, s)
	for _, a := range history {
		fmt.Fprintf(&text, "{%q, %d}, ", a.Do, a.N)
	}
	return text.String() + "}\n" + w.Trace()
}

// met sums up what histories have met.
type met struct {
	mu   sync.Mutex
	hits map[string]int
}

func (m *met) add(hits map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for what, n := range hits {
		m.hits[what] += n
	}
}

func TestProtocol_HoldsInEveryInterleaving(t *testing.T) {
	t.Parallel()
	rounds := 20 // of a hundred histories
	if devstack.Long() {
		rounds = 3000
	}
	seen := met{hits: map[string]int{}}
	for round := range rounds {
		rapid.Check(t, func(rt *rapid.T) {
			s, history := settings.Draw(rt, "sale"), histories(round, 300).Draw(rt, "history")
			w := New(s)
			if err := Run(w, history); err != nil {
				rt.Fatal(replayed(s, history))
			}
			seen.add(w.Hits)
		})
	}
	for _, what := range worthwhile {
		if seen.hits[what] == 0 {
			t.Errorf("%d histories, and none has met: %s", 100*rounds, what)
		}
	}
}

// worthwhile is what exploring must meet, or it has shown little.
var worthwhile = []string{
	"sold out", "limit", "replay", "stale reserve", "swept", "settle postponed", "expired", "cancelled", "release repeated",
	"decrease refused", "payment: paid", "payment: owed", "payment: replaced", "payment: refunded", "payment: settled",
	"redis lost", "redis came back old", "live again", "saved by a load", "hand-over too late for 202", "batch refused: beyond",
}

// hunter is where rapid reports to when it is to find something.
type hunter struct {
	rapid.TB
	failed bool
}

func (h *hunter) Helper()               {}
func (h *hunter) Logf(string, ...any)   {}
func (h *hunter) Log(...any)            {}
func (h *hunter) Errorf(string, ...any) { h.failed = true }
func (h *hunter) Error(...any)          { h.failed = true }
func (h *hunter) Failed() bool          { return h.failed }
func (h *hunter) FailNow()              { h.failed = true; runtime.Goexit() }

// hunt has rapid look for a violation in worlds without some protections, and returns the
// first that it finds.
func hunt(t *testing.T, rounds int, without ...Protection) (found *Violation) {
	for round := range rounds {
		h := &hunter{TB: t}
		var hunting sync.WaitGroup
		hunting.Go(func() {
			rapid.Check(h, func(rt *rapid.T) {
				if found == nil {
					_ = errors.As(Run(New(settings.Draw(rt, "sale"), without...), histories(round, 300).Draw(rt, "history")), &found)
				}
				if found != nil {
					rt.Fatal("found") // at once from here on: nobody needs the smallest
				}
			})
		})
		hunting.Wait()
		if h.failed {
			return found
		}
	}
	return nil
}

func TestProtocol_WithoutAProtectionAViolationIsFound(t *testing.T) {
	t.Parallel()
	for _, p := range protections {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			if found := hunt(t, 100, p); found == nil {
				t.Error("nothing is found")
			} else {
				t.Log(found)
			}
		})
	}
}
