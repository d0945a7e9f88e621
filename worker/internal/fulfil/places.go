package fulfil

import "context"

// scansAtOnce bounds how many sales have all their tickets read at a time.
const scansAtOnce = 2

// places bound how much is done at a time, of all sales together: each sale looks at
// Redis by itself, and hundreds that do so in one moment would wait for a connection
// longer than it may take, and keep those who settle from theirs. Whoever finds no place
// waits in line, before its call begins to count as late.
type places chan struct{}

func newPlaces(n int) places { return make(places, n) }

// take waits for a place; leave is to be called once, and only without an error.
func (p places) take(ctx context.Context) (leave func(), err error) {
	select {
	case p <- struct{}{}:
		return func() { <-p }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// look makes one call to Redis, which is timed from when it has its place.
func (p places) look(ctx context.Context, call func(ctx context.Context) error) error {
	leave, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx)
}
