package compare

import (
	"context"

	"sluice/loadtest/internal/stack"
)

// turns is the order of n systems in a round. Over n rounds each has every place once and,
// if n is even, follows each of the others once: whatever one leaves the next is not always
// the same one's.
func turns(n, round int) []int {
	order := make([]int, n)
	for k := range order {
		step := (k + 1) / 2 // 0, n-1, 1, n-2, …
		if k%2 == 1 {
			step = n - step
		}
		order[k] = (round + step) % n
	}
	return order
}

// halt halts Sluice's gateways and workers, which are at rest, until goOn: what they do when
// nobody buys is no part of a baseline's turn.
func (r *run) halt(ctx context.Context) (err error) {
	if r.resume != nil {
		return nil
	}
	var pids []int
	for _, g := range r.Stack.Gateways {
		pids = append(pids, g.PID)
	}
	for _, w := range r.Stack.Workers {
		pids = append(pids, w.PID)
	}
	r.resume, err = stack.HaltAll(ctx, pids...)
	return err
}

func (r *run) goOn() error {
	if r.resume == nil {
		return nil
	}
	resume := r.resume
	r.resume = nil
	return resume()
}
