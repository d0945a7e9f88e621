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
