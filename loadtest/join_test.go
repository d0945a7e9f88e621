package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

const (
	joinUnits  = 3000
	joinBuyers = 6000
	joinFirst  = 100 // attempts at each gateway that has just become ready, all at once
)

// joined is what buyers were told by gateways that were added, from the moment on that
// each was ready.
type joined struct {
	sent, cold, faults atomic.Int64
	mu                 sync.Mutex
	outcomes           map[string]int
}

func (j *joined) note(a attack.Answer) {
	j.sent.Add(1)
	switch {
	case a.Outcome == sale.Unavailable.String() && a.Ticket.Ticket == "":
		j.cold.Add(1)
	case a.Outcome == attack.OutcomeFault:
		j.faults.Add(1)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.outcomes[a.Outcome]++
}

func TestJoin_AddedUnderLoadAGatewayThatIsReadyRefusesNobodyForColdness(t *testing.T) {
	t.Parallel()
	times, together := 3, 4
	if devstack.Long() {
		times, together = 10, 10
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s := openScene(ctx, t, joinUnits, joinBuyers, stack.Config{Gateways: 1, Workers: 1, FirstEnv: patientGateways()})
	var winners record.Winners
	var next atomic.Int64
	load, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.keepBuying(load, &next, &winners) })
	one := &joined{outcomes: map[string]int{}}
	for range times {
		s.join(ctx, 1, &next, &winners, one)
	}
	many := &joined{outcomes: map[string]int{}}
	s.join(ctx, min(together, 15-times), &next, &winners, many)
	stop()
	running.Wait()
	for name, j := range map[string]*joined{"one after the other": one, "together": many} {
		t.Logf("added %s: %d attempts once ready, outcomes %v", name, j.sent.Load(), j.outcomes)
		if j.cold.Load() != 0 || j.faults.Load() != 0 || j.sent.Load() == 0 {
			t.Errorf("added %s: of %d attempts %d refused for coldness, %d without an answer", name, j.sent.Load(), j.cold.Load(), j.faults.Load())
		}
	}
	s.rest(ctx, winners.Seen(), time.Minute)
}

// patientGateways wait for stores that a busy machine slows down: a timeout is no
// coldness.
func patientGateways() map[string][]string {
	env := map[string][]string{}
	for i := range 16 {
		env[fmt.Sprint("gateway-", i)] = []string{"SLUICE_REDIS_TIMEOUT=5s", "SLUICE_PUBLISH_TIMEOUT=4s"}
	}
	return env
}

// join adds n gateways at once and attempts at each as soon as its probe says that it is
// ready, many at a time.
func (s *scene) join(ctx context.Context, n int, next *atomic.Int64, winners *record.Winners, j *joined) {
	s.t.Helper()
	added, err := s.stack.AddGateways(ctx, n)
	s.must(err)
	var routed sync.WaitGroup
	for _, g := range added {
		first := int(next.Add(joinFirst)) - joinFirst
		routed.Go(func() {
			if !untilReady(ctx, g) {
				s.t.Errorf("gateway %s was not ready in time", g.URL)
				return
			}
			s.buyAt(ctx, g.URL, first, joinFirst, 0, func(buyer int, a attack.Answer) {
				j.note(a)
				s.won(buyer, a, winners)
			})
		})
	}
	routed.Wait()
	for _, g := range added {
		if got := s.scrape(ctx, g.OpsURL, `sluice_funnel_exits_total{layer="memory",outcome="unavailable"}`); got != "0" {
			s.t.Errorf("%s has refused %s attempts for coldness", g.URL, got)
		}
	}
}

// untilReady polls a gateway's probe as a router does, but as often as it can.
func untilReady(ctx context.Context, g stack.GatewayInfo) bool {
	client := http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		res, err := client.Get(g.OpsURL + "/readyz")
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return true
			}
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// buyAt sends one attempt each of buyers from first on to one gateway, at a rate, or all
// at once when that is 0.
func (s *scene) buyAt(ctx context.Context, gateway string, first, n, perSecond int, answered func(buyer int, a attack.Answer)) {
	attacker := attack.New(attack.Config{Connections: 16, Timeout: 20 * time.Second})
	defer attacker.Close()
	attacker.Run(ctx, attack.Plan{
		Attempts: n, Start: time.Now(),
		Due: func(i int) time.Duration {
			return time.Duration(i) * time.Second / time.Duration(cmp.Or(perSecond, 1_000_000))
		},
		Shot: func(i int) attack.Shot {
			return attack.Shot{URL: gateway + "/v1/sales/" + s.saleID + "/orders", Token: s.tokens[first+i]}
		},
		Answered: func(i int, a attack.Answer) { answered(first+i, a) },
	})
}

// keepBuying is the load: the gateway of the start takes attempts until ctx ends.
func (s *scene) keepBuying(ctx context.Context, next *atomic.Int64, winners *record.Winners) {
	const each, perSecond = 50, 200
	for ctx.Err() == nil {
		first := int(next.Add(each)) - each
		if first+each > len(s.tokens) {
			return
		}
		s.buyAt(ctx, s.gateway(0), first, each, perSecond, func(buyer int, a attack.Answer) { s.won(buyer, a, winners) })
	}
}

// won keeps what a buyer was told of a reservation.
func (s *scene) won(buyer int, a attack.Answer, winners *record.Winners) {
	if a.Ticket.Ticket == "" {
		return
	}
	rid, err := attack.RID(a.Ticket.Ticket)
	if err != nil {
		s.t.Error(err)
		return
	}
	winners.Answer(buyer, a.Ticket.Ticket, rid, a.Outcome == sale.Accepted.String(), a.Ticket.Status)
}

// scrape reads one sample of a process's metrics, as text; "" when it has none.
func (s *scene) scrape(ctx context.Context, ops, sample string) string {
	s.t.Helper()
	_, text := s.send(ctx, http.MethodGet, ops+"/metrics", "", "")
	for line := range strings.Lines(text) {
		if rest, is := strings.CutPrefix(line, sample+" "); is {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
