package bench

import (
	"context"

	"sluice/loadtest/internal/loop"
)

// allocsMore is how many heap allocations a refusal makes beyond those of an empty handler.
const allocsMore = "refusal_allocs_more"

// mallocs is the Go runtime's counter of heap allocations.
const mallocs = "go_memstats_mallocs_total"

// allocating measures a load and returns what its server has allocated for each request.
// All that the process allocates meanwhile counts: connections, loops, reading its metrics.
func (b *bench) allocating(ctx context.Context, name, opsURL string, f figures, l loop.Load) (float64, error) {
	before, err := gauge(ctx, opsURL, mallocs)
	if err != nil {
		return 0, err
	}
	m, err := b.measure(ctx, name, f, l)
	if err != nil {
		return 0, err
	}
	after, err := gauge(ctx, opsURL, mallocs)
	if err != nil {
		return 0, err
	}
	each := (after - before) / float64(m.Wanted+m.Unwanted)
	f[name+"_allocs"] = each
	return each, nil
}
