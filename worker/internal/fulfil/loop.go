package fulfil

import (
	"context"
	"time"
)

// loop repeats a task periodically, and at once when poked.
type loop struct {
	poked chan struct{}
}

func newLoop() loop { return loop{poked: make(chan struct{}, 1)} }

func (l loop) poke() {
	select {
	case l.poked <- struct{}{}:
	default: // it will look anyway
	}
}

func (l loop) run(ctx context.Context, every time.Duration, task func()) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-l.poked:
		}
		task()
	}
}

// saleEpoch is what one call to Redis is about.
type saleEpoch struct {
	saleID string
	epoch  int64
}

// groupBy splits items by key, each group in the items' order.
func groupBy[T any, K comparable](items []T, key func(T) K) map[K][]T {
	groups := map[K][]T{}
	for _, item := range items {
		groups[key(item)] = append(groups[key(item)], item)
	}
	return groups
}
