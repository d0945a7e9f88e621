package report

import (
	"maps"
	"testing"
)

func TestSpread_MedianAndExtremes(t *testing.T) {
	t.Parallel()
	for want, values := range map[Spread][]float64{
		{Median: 2, Min: 1, Max: 9}:   {9, 1, 2},
		{Median: 2.5, Min: 1, Max: 9}: {3, 9, 1, 2},
		{Median: 7, Min: 7, Max: 7}:   {7},
	} {
		if got := SpreadOf(values); got != want {
			t.Errorf("spread of %v is %+v, want %+v", values, got, want)
		}
	}
}

func TestSpreads_AreOverTheRoundsThatHaveTheFigure(t *testing.T) {
	t.Parallel()
	got := Spreads([]map[string]float64{{"a": 1, "once": 5}, {"a": 3}})
	want := map[string]Spread{"a": {Median: 2, Min: 1, Max: 3}, "once": {Median: 5, Min: 5, Max: 5}}
	if !maps.Equal(want, got) {
		t.Errorf("%v, want %v", got, want)
	}
}
