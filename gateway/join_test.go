package main

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"sluice/shared/sale"
)

// joiner is a gateway whose calls of the stores are listened to.
type joiner struct {
	*running
	redis, nats *wiretap
}

func (s *stores) join(t *testing.T) joiner {
	t.Helper()
	j := joiner{redis: tap(t, s.redisURL), nats: tap(t, s.natsURL)}
	tapped := *s
	tapped.redisURL, tapped.natsURL = j.redis.url, j.nats.url
	j.running = tapped.start(t, "-refresh", "1h", "-redis-timeout", "20s") // so that only the start reads, and each once, however full the machine is
	return j
}

func (j joiner) untilReady() {
	j.until("ready", func() bool { code, _ := j.opsGet("/readyz"); return code == http.StatusOK })
}

// periodic are calls that say nothing of a start: they come with every connection, ask
// whether a store is there, or are the backlog's reader, which asks once a second, and the catalogue's watch, which does
// every three.
var periodic = []string{"ping", "pong", "hello", "connect", "client setinfo", "client maint_notifications",
	"$JS.API.STREAM.INFO.SLUICE_ORDERS", "$JS.API.STREAM.INFO.KV_SLUICE_SALES", "$JS.API.CONSUMER.INFO.SLUICE_ORDERS", "$JS.API.STREAM.MSG.GET"}

func (j joiner) calls() map[string]int {
	calls := j.redis.heard(redisCall)
	maps.Copy(calls, j.nats.heard(natsCall))
	for _, call := range periodic {
		delete(calls, call)
	}
	return calls
}

func TestJoin_CallsOfTheStoresAreThoseOfTheSalesAlone(t *testing.T) {
	t.Parallel()
	s := connectOwnStores(t)
	const many = 20
	var entries []sale.Entry
	for i := range many {
		entries = append(entries, s.sell(t, 100_000, func(e *sale.Sale) {
			if i%2 == 0 { // beyond the horizon
				e.OpensAt, e.ClosesAt = time.Now().Add(48*time.Hour).UTC(), time.Now().Add(49*time.Hour).UTC()
			}
		}))
	}
	s.startReady(t).stop() // its scripts stay
	alone := s.join(t)
	alone.untilReady()
	want := alone.calls()
	t.Logf("with %d sales: %v", many, want)
	for call, n := range map[string]int{"evalsha snapshot": many, "script exists": 1, "script load": 0, "time": 1} {
		if want[call] != n {
			t.Errorf("%d × %s at the start, want %d", want[call], call, n)
		}
	}
	stop := s.traffic(t, entries[1].ID)
	defer stop()
	joiners := make([]joiner, 10)
	for i := range joiners {
		joiners[i] = s.join(t)
	}
	for i, j := range joiners {
		j.untilReady()
		if got := j.calls(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("gateway %d of ten, under load, calls %v, alone %v", i, got, want)
		}
	}
}

// traffic has a gateway take attempts until it is stopped.
func (s *stores) traffic(t *testing.T, saleID string) (stop func()) {
	t.Helper()
	g := s.startReady(t, "-redis-timeout", "5s")
	g.untilWarm(saleID)
	var owned sync.WaitGroup
	ended := make(chan struct{})
	for worker := range 4 {
		owned.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ended:
					return
				default:
					g.attempt(saleID, fmt.Sprintf("user-%d-%d", worker, n))
				}
			}
		})
	}
	return func() {
		close(ended)
		owned.Wait()
	}
}
