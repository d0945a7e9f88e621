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
	"sluice/shared/devstack"
)

const (
	drainUnits  = 2000
	drainBuyers = 8000
	drainRate   = 100 // attempts a second
)

// router is what routes requests in front of gateways: to those whose readiness
// probe answered last.
type router struct {
	urls, probes []string
	client       http.Client
	readyAt      []atomic.Int64 // when the probe last said so, unix nanoseconds
}

// readyFor is how long a probe's word counts: a router that is held up must not
// send to a gateway that has gone meanwhile.
const readyFor = 400 * time.Millisecond

func newRouter(info stack.Info) *router {
	r := &router{client: http.Client{Timeout: 200 * time.Millisecond}, readyAt: make([]atomic.Int64, len(info.Gateways))}
	for _, g := range info.Gateways {
		r.urls, r.probes = append(r.urls, g.URL), append(r.probes, g.OpsURL+"/readyz")
	}
	return r
}

func (r *router) probe(i int) {
	asked := time.Now()
	res, err := r.client.Get(r.probes[i])
	if err != nil {
		r.readyAt[i].Store(0)
		return
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		r.readyAt[i].Store(0)
		return
	}
	r.readyAt[i].Store(asked.UnixNano())
}

func (r *router) ready(i int) bool { return time.Since(time.Unix(0, r.readyAt[i].Load())) < readyFor }

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
		if i := (n + k) % len(r.urls); r.ready(i) {
			return r.urls[i]
		}
	}
	return ""
}

func TestDrain_NoRequestIsLostWhenGatewaysAreStoppedUnderLoad(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	s := openScene(ctx, t, drainUnits, drainBuyers, stack.Config{Gateways: 2, Workers: 1, Drain: 1500 * time.Millisecond})
	r := newRouter(s.stack.Info())
	routing, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { r.run(routing) })
	var winners record.Winners
	var sent, failed atomic.Int64
	running.Go(func() { s.buyThrough(routing, r, &winners, &sent, &failed) })

	times := 6
	if devstack.Long() {
		times = 20
	}
	for n := range times {
		i := n % 2
		before := s.stack.Info().Gateways[i].PID
		s.must(syscall.Kill(before, syscall.SIGTERM))
		s.until(ctx, "the gateway is back and ready", func() bool {
			return s.stack.Info().Gateways[i].PID != before && r.ready(0) && r.ready(1)
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
			continue // the probes are held up; a real router would answer 503
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
