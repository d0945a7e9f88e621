package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/loadtest/internal/stack"
	"sluice/shared/devstack"
)

const (
	storeBuyers  = killRate * 60
	storeHealing = 60 * time.Second // reconnect, five seconds until a ticket counts as handed over, the backlog: threefold
)

func TestNATS_LostOrRestoredOldMidSaleEveryAcceptedAttemptHasItsOutcome(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(s *devstack.Server, older string) error{
		"an older copy":      (*devstack.Server).PutData,
		"everything is gone": func(s *devstack.Server, _ string) error { return s.WipeData() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !devstack.Long() && name != "an older copy" {
				t.Skip("its part of make long: what the older copy lacks is gone too")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
			defer cancel()
			k := &killed{scene: openScene(ctx, t, storeBuyers, storeBuyers, stack.Config{Gateways: 2, Workers: 2, Proxied: []string{"postgres"}})}
			older := filepath.Join(t.TempDir(), "older")
			stop := k.attackUntilStopped(ctx)
			defer stop()
			k.soldMore(ctx, 200)
			k.must(k.stack.Restart(ctx, "nats", (*devstack.Server).Stop, func(s *devstack.Server) error { return s.CopyData(older) }))
			k.soldMore(ctx, 200)
			// Workers cannot order, so what is accepted now is nowhere but in Redis and in the stream.
			k.stack.Proxy("postgres").Cut()
			k.soldMore(ctx, 200)
			k.must(k.stack.Restart(ctx, "nats", (*devstack.Server).Kill, func(s *devstack.Server) error { return replace(s, older) }))
			k.stack.Proxy("postgres").Heal()
			k.soldMore(ctx, 200) // by the same gateways, which nobody has told anything
			stop()
			e := k.rest(ctx, k.winners.Seen(), storeHealing)
			k.even(ctx)
			k.strandedBuyers(e)
			lost := k.workersSum(ctx, "sluice_lost_total")
			t.Logf("%d accepted, %d orders, %v handed over again", len(k.winners.All()), len(e.Orders), lost)
			if lost == 0 {
				t.Error("nothing was lost: the fault missed its window")
			}
			if k.workersSum(ctx, "sluice_stream_replaced_total") == 0 {
				t.Error("no worker noticed")
			}
		})
	}
}

// attackUntilStopped attacks in the background; stop ends that and waits.
func (k *killed) attackUntilStopped(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var attack sync.WaitGroup
	attack.Go(func() { k.attackAll(ctx) })
	return func() {
		cancel()
		attack.Wait()
	}
}

// soldMore waits until n more buyers were told of a reservation.
func (k *killed) soldMore(ctx context.Context, n int) {
	k.t.Helper()
	before := len(k.winners.All())
	k.until(ctx, fmt.Sprintf("%d more are sold", n), func() bool { return len(k.winners.All()) >= before+n })
}

// workersSum adds up a counter without labels of all workers.
func (s *scene) workersSum(ctx context.Context, name string) (sum float64) {
	s.t.Helper()
	for _, w := range s.stack.Info().Workers {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.AdminURL+"/metrics", nil)
		s.must(err)
		res, err := http.DefaultClient.Do(req)
		s.must(err)
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			var value float64
			if text, found := strings.CutPrefix(lines.Text(), name+" "); found {
				_, err := fmt.Sscan(text, &value)
				s.must(err)
				sum += value
			}
		}
		s.must(lines.Err())
		_ = res.Body.Close()
	}
	return sum
}
