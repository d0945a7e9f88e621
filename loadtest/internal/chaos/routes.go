package chaos

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/loadtest/internal/history"
	"sluice/loadtest/internal/wait"
)

// healthEvery is how often a proxy asks a gateway whether it is ready, and healthWithin how
// long it waits for the answer.
const (
	healthEvery  = 100 * time.Millisecond
	healthWithin = 2 * time.Second
)

// routes say which gateway an attempt goes to: its buyer's own, or the next one that has not
// said that it is unready.
type routes struct {
	mu      sync.Mutex
	unready map[int]bool
	idle    func() // ends connections that nobody uses
}

func (r *routes) from(buyer, gateways int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range gateways {
		if at := (buyer + i) % gateways; !r.unready[at] {
			return at
		}
	}
	return buyer % gateways
}

// set takes in what a gateway said. One that is not ready is about to close what nobody uses,
// and a proxy sees that before it sends anything there; these clients would not.
func (r *routes) set(gateway int, ready bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unready == nil {
		r.unready = make(map[int]bool)
	}
	r.unready[gateway] = !ready
	if !ready && r.idle != nil {
		r.idle()
	}
}

// carry has the routes know of the connections that attempts go over.
func (r *routes) carry(idle func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = idle
}

// routeByHealth has attempts go to gateways that are ready alone, as behind a proxy with
// health checks, until stop.
func (r *Round) routeByHealth(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	for i, g := range r.stack.Info().Gateways {
		asking.Go(func() {
			for wait.For(ctx, healthEvery) {
				asked, done := context.WithTimeout(ctx, healthWithin)
				status, _, err := r.send(asked, http.MethodGet, g.OpsURL+"/readyz", "", "")
				done()
				if ctx.Err() == nil {
					r.routes.set(i, err == nil && status == http.StatusOK)
				}
			}
		})
	}
	return func() {
		cancel()
		asking.Wait()
	}
}

// wantUnnoticed wants every attempt from a moment on to have an answer other than 503.
func (r *Round) wantUnnoticed(from time.Duration, while string) {
	to := r.journal.Now()
	r.checks = append(r.checks, func(events []history.Event) {
		all := attemptsBetween(events, from, to)
		var silent, refused []history.Event
		for _, e := range all {
			switch e.Status {
			case 0:
				silent = append(silent, e)
			case http.StatusServiceUnavailable:
				refused = append(refused, e)
			}
		}
		if len(all) == 0 {
			r.fail("scenario", "nobody attempted while %s", while)
		}
		r.hit(0, "%d attempts were answered while %s", len(all)-len(silent), while)
		if len(silent) > 0 {
			r.fail("I12", "%d of %d attempts had no answer while %s, such as %s", len(silent), len(all), while, r.told(silent[0]))
		}
		if len(refused) > 0 {
			r.fail("I9", "%d of %d attempts were answered 503 while %s, such as %s", len(refused), len(all), while, r.told(refused[0]))
		}
	})
}

// told names an attempt, so that it is found in the logs.
func (r *Round) told(e history.Event) string {
	buyer := r.buyer(e.User)
	ms := time.Millisecond
	r.load.mu.Lock()
	defer r.load.mu.Unlock()
	words := fmt.Sprintf("that of %s, sent to gateway-%d at %s, over %s later", e.User, r.load.sentTo[buyer], e.Began.Round(ms), (e.Ended - e.Began).Round(ms))
	if cut := r.load.cuts[buyer]; cut != nil {
		words += ": " + cut.Error()
	}
	return words
}
