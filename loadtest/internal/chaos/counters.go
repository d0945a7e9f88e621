package chaos

import (
	"context"

	"sluice/loadtest/internal/collect"
)

// ofWorkers adds up a counter over its labels and all workers.
func (r *Round) ofWorkers(ctx context.Context, name string) (float64, error) {
	return r.ofWorkersWhere(ctx, name, "", "")
}

// ofWorkersWhere is ofWorkers where a label has a value.
func (r *Round) ofWorkersWhere(ctx context.Context, name, label, value string) (sum float64, err error) {
	for i := range r.workers() {
		n, err := collect.ReadCounter(ctx, r.stack.Info().Workers[i].AdminURL, name, label, value)
		if err != nil {
			return sum, err
		}
		sum += n
	}
	return sum, nil
}
