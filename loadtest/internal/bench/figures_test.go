package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRatio_IsOfFiguresOfOneRoundAndLeavesOutRoundsWithoutThem(t *testing.T) {
	t.Parallel()
	rounds := []figures{{"a": 1, "b": 10}, {"b": 10}, {"a": 8, "b": 2}, {"a": 3}, {"a": 3, "b": 0}}
	if diff := cmp.Diff([]float64{0.1, 4}, ratio{"r", "a", "b"}.of(rounds)); diff != "" {
		t.Error(diff)
	}
}

func TestScenarios_OfOnePartAreItsOwn(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]int{PartOrders: 2, PartQuotes: 1, PartRefusal: 3, PartPolling: 0, PartGrowth: 0} {
		b := bench{Config: Config{Only: part}}
		if got := len(b.scenarios()); got != want {
			t.Errorf("%s: %d scenarios, want %d", part, got, want)
		}
	}
}
