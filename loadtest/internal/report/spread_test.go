package report

import "testing"

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
