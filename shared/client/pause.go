package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

const (
	tries     = 8                      // of one purchase or read
	firstWait = 200 * time.Millisecond // after a failure, doubled each time; and between reads, whatever the gateway says
	lastWait  = 5 * time.Second
	longest   = 30 * time.Second // a gateway that says to come back later than this is not waited for
)

// pauseAfter is how long to wait after the n-th failure in a row, from 0: longer
// each time, and no less than what the gateway said.
func pauseAfter(failure error, n int) time.Duration {
	pause := min(firstWait<<min(n, 10), lastWait)
	var r *Refusal
	if errors.As(failure, &r) {
		pause = max(pause, r.RetryAfter)
	}
	return pause
}

// Patience is how many times a client tries for one purchase that is refused with that
// Retry-After each time, and how long it does so at least: up to a quarter longer.
func Patience(retryAfter time.Duration) (attempts int, took time.Duration) {
	for n := range tries - 1 {
		took += pauseAfter(&Refusal{RetryAfter: retryAfter}, n)
	}
	return tries, took
}

// sleep waits for d and up to a quarter more, so that those who were sent away
// together do not come back together, and never for less. It returns at once when
// ctx would end first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	d += rand.N(d/4 + 1)
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < d {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// retryAfter reads the header: seconds, or a date. Zero when it says nothing.
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(max(0, min(seconds, 86400))) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(date))
	}
	return 0
}
