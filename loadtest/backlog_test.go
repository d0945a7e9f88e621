package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"testing"
	"time"

	"sluice/loadtest/internal/stack"
)

const backlogBuyers = 20

// backlogOf reads a metric of the sale's backlog from a process; NaN when it is absent.
func (s *scene) backlogOf(ctx context.Context, ops, name string) float64 {
	s.t.Helper()
	_, text := s.send(ctx, http.MethodGet, ops+"/metrics", "", "")
	found := regexp.MustCompile(`(?m)^sluice_backlog_` + name + `\{sale="` + s.saleID + `"\} (\S+)$`).FindStringSubmatch(text)
	if found == nil {
		return math.NaN()
	}
	return number(s.t, found[1])
}

// untilBacklog waits until every process says that n wait, the oldest since a moment that
// fits, or that nothing waits.
func (s *scene) untilBacklog(ctx context.Context, n int, fits func(oldest float64) bool) {
	s.t.Helper()
	info := s.stack.Info()
	for _, ops := range []string{info.Gateways[0].OpsURL, info.Gateways[1].OpsURL, info.Workers[0].AdminURL} {
		s.until(ctx, fmt.Sprintf("%s says that %d wait", ops, n), func() bool {
			return s.backlogOf(ctx, ops, "waiting") == float64(n) && fits(s.backlogOf(ctx, ops, "oldest_timestamp_seconds"))
		})
	}
}

// A worker that cannot commit, then is killed, and its successor.
func TestBacklog_IsToldByEveryProcessUntilAnotherWorkerHasServedIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := openScene(ctx, t, 2*backlogBuyers, backlogBuyers, stack.Config{Gateways: 2, Workers: 1, FirstEnv: map[string][]string{
		"worker-0": {"SLUICE_FAILPOINTS=worker.before_commit=error"},
	}})
	began, first := time.Now(), time.Time{}
	for i := range backlogBuyers {
		if status, answer := s.send(ctx, http.MethodPost, s.orders(i), s.tokens[i], ""); status != http.StatusAccepted {
			t.Fatalf("%d %s", status, answer)
		}
		if i == 0 {
			first = time.Now()
		}
	}
	s.untilBacklog(ctx, backlogBuyers, func(oldest float64) bool {
		at := time.UnixMilli(int64(oldest * 1000))
		return at.After(began.Add(-time.Second)) && at.Before(first.Add(time.Second))
	})
	s.must(s.stack.Kill(ctx, "worker", 0))
	s.untilBacklog(ctx, 0, math.IsNaN) // told as absent
	s.rest(ctx, nil, time.Minute)
}
