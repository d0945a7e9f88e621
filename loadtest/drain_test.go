package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/client"
)

const (
	drainTimes  = 20
	drainUnits  = 2000
	drainBuyers = 8000
	drainRate   = 100 // attempts a second
)

// router is what routes requests in front of gateways: to those whose readiness
// probe answered last.
type router struct {
	urls, probes []string
	ready        []atomic.Bool
}

func newRouter(info stack.Info) *router {
	r := &router{ready: make([]atomic.Bool, len(info.Gateways))}
	for _, g := range info.Gateways {
		r.urls, r.probes = append(r.urls, g.URL), append(r.probes, g.OpsURL+"/readyz")
	}
	return r
}

func (r *router) probe(i int) {
	res, err := http.Get(r.probes[i])
	if err != nil {
		r.ready[i].Store(false)
		return
	}
	_ = res.Body.Close()
	r.ready[i].Store(res.StatusCode == http.StatusOK)
}

func (r *router) run(ctx context.Context) {
	var all sync.WaitGroup
	for i := range r.urls {
		all.Go(func() {
			for ctx.Err() == nil {
				r.probe(i)
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	all.Wait()
}

// pick returns a ready gateway, the n-th if there are several; "" when none is.
func (r *router) pick(n int) string {
	for k := range r.urls {
		if i := (n + k) % len(r.urls); r.ready[i].Load() {
			return r.urls[i]
		}
	}
	return ""
}

func TestDrain_NoRequestIsLostWhenGatewaysAreStoppedUnderLoad(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	s := openScene(ctx, t, drainUnits, drainBuyers, stack.Config{Gateways: 2, Workers: 1, Drain: 700 * time.Millisecond})
	r := newRouter(s.stack.Info())
	routing, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { r.run(routing) })
	var winners record.Winners
	var sent, failed atomic.Int64
	running.Go(func() { s.buyThrough(routing, r, &winners, &sent, &failed) })

	for n := range drainTimes {
		i := n % 2
		before := s.stack.Info().Gateways[i].PID
		s.must(syscall.Kill(before, syscall.SIGTERM))
		s.until(ctx, "the gateway is back and ready", func() bool {
			return s.stack.Info().Gateways[i].PID != before && r.ready[0].Load() && r.ready[1].Load()
		})
	}
	stop()
	running.Wait()
	t.Logf("%d attempts, %d accepted", sent.Load(), len(winners.All()))
	if failed.Load() != 0 || sent.Load() < 100 {
		t.Errorf("%d of %d attempts had no answer", failed.Load(), sent.Load())
	}
	s.rest(ctx, winners.Seen(), time.Minute)
}

// buyThrough sends one attempt of one buyer after the other, each through a ready
// gateway, over kept connections, until ctx ends.
func (s *scene) buyThrough(ctx context.Context, r *router, winners *record.Winners, sent, failed *atomic.Int64) {
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	var requests sync.WaitGroup
	defer requests.Wait()
	ticker := time.NewTicker(time.Second / drainRate)
	defer ticker.Stop()
	for buyer := range drainBuyers {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		gateway := r.pick(buyer)
		if gateway == "" {
			s.t.Error("no gateway is ready")
			continue
		}
		requests.Go(func() {
			sent.Add(1)
			if err := s.buy(client, gateway, buyer, winners); err != nil {
				failed.Add(1)
				s.t.Errorf("attempt of buyer %d: %v", buyer, err)
			}
		})
	}
}

func (s *scene) buy(via *http.Client, gateway string, buyer int, winners *record.Winners) error {
	req, err := http.NewRequest(http.MethodPost, gateway+"/v1/sales/"+s.saleID+"/orders", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.tokens[buyer])
	res, err := via.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusAccepted {
		return nil
	}
	var ticket client.Ticket
	if err := json.Unmarshal(body, &ticket); err != nil {
		return err
	}
	rid, err := attack.RID(ticket.Ticket)
	if err != nil {
		return err
	}
	winners.Answer(buyer, ticket.Ticket, rid, true, ticket.Status)
	return nil
}

func (s *scene) until(ctx context.Context, what string, holds func() bool) {
	s.t.Helper()
	for !holds() {
		select {
		case <-ctx.Done():
			s.t.Fatalf("not in time: %s", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
