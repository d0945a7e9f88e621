package report

import "slices"

// Spread is a figure or a ratio over the rounds of a run.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// SpreadOf is the median of values, of which there is one at least, with the extremes.
func SpreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// Spreads are every figure's, by name, over the rounds that have it.
func Spreads[F ~map[string]float64](rounds []F) map[string]Spread {
	values := make(map[string][]float64)
	for _, f := range rounds {
		for name, value := range f {
			values[name] = append(values[name], value)
		}
	}
	all := make(map[string]Spread, len(values))
	for name := range values {
		all[name] = SpreadOf(values[name])
	}
	return all
}
