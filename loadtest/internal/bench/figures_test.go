package bench

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sluice/loadtest/internal/report"
)

func TestRatio_IsOfFiguresOfOneRoundAndLeavesOutRoundsWithoutThem(t *testing.T) {
	t.Parallel()
	rounds := []figures{{"a": 1, "b": 10}, {"b": 10}, {"a": 8, "b": 2}, {"a": 3}, {"a": 3, "b": 0}}
	if diff := cmp.Diff([]float64{0.1, 4}, ratio{"r", "a", "b"}.of(rounds)); diff != "" {
		t.Error(diff)
	}
}

func TestOverall_IsOverTheRoundsThatHaveTheFigure(t *testing.T) {
	t.Parallel()
	got := overall([]figures{{"a": 1, "once": 5}, {"a": 3}})
	want := map[string]report.Spread{"a": {Median: 2, Min: 1, Max: 3}, "once": {Median: 5, Min: 5, Max: 5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
