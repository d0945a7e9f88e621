package campaign

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/shared/client"
)

const (
	mostFollowers = 4096             // tickets followed at a time, by all senders: those that wait for news have a connection each
	followPatient = 30 * time.Second // for the last ticket's outcome after the last attempt
)

// Follows is what became of the tickets that the reference client followed.
type Follows struct {
	Tickets  int    `json:"tickets"`  // followed
	Outcomes int    `json:"outcomes"` // of those, with one
	Skipped  int    `json:"skipped"`  // not followed: too many were at the time
	Hanging  string `json:"hanging"`  // what the first without an outcome was told
}

func (f Follows) plus(g Follows) Follows {
	sum := Follows{Tickets: f.Tickets + g.Tickets, Outcomes: f.Outcomes + g.Outcomes, Skipped: f.Skipped + g.Skipped, Hanging: f.Hanging}
	if sum.Hanging == "" {
		sum.Hanging = g.Hanging
	}
	return sum
}

// followers follow tickets as buyers' apps do.
type followers struct {
	buyers   *attack.Buyers
	gateways []string
	places   chan struct{} // as many as may follow at a time
	reads    *record.Latencies
	winners  *winners
	wait     sync.WaitGroup

	mu sync.Mutex
	f  Follows
}

func newFollowers(p plan, reads *record.Latencies, w *winners) *followers {
	return &followers{
		buyers: attack.NewBuyers(p.Followers, p.Timeout), gateways: p.Gateways,
		places: make(chan struct{}, p.Followers), reads: reads, winners: w,
	}
}

// follow follows one ticket until it has its outcome or ctx ends, beside the caller.
func (f *followers) follow(ctx context.Context, rid uuid.UUID, token string, first int, polling bool, t client.Ticket) {
	select {
	case f.places <- struct{}{}:
	default:
		f.count(Follows{Skipped: 1})
		return
	}
	f.count(Follows{Tickets: 1})
	f.wait.Go(func() {
		defer func() { <-f.places }()
		if err := f.toItsEnd(ctx, rid, token, first, polling, t); err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("it was given up %s after the last attempt: %w", followPatient, err)
			}
			f.count(Follows{Hanging: err.Error()})
			return
		}
		f.count(Follows{Outcomes: 1})
	})
}

func (f *followers) toItsEnd(ctx context.Context, rid uuid.UUID, token string, first int, polling bool, t client.Ticket) error {
	urls := append(append([]string{}, f.gateways[first:]...), f.gateways[:first]...)
	buyer, err := f.buyers.Buyer(token, polling, urls...)
	if err != nil {
		return err
	}
	class := ClassHeld
	if polling {
		class = ClassPolled
	}
	_, err = buyer.Follow(ctx, t, func(t client.Ticket, took time.Duration) {
		f.winners.read(rid, t.Status)
		f.reads.Add(class, took)
	})
	return err
}

func (f *followers) count(one Follows) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.f = f.f.plus(one)
}

func (f *followers) so() Follows {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.f
}

// end waits for the outcomes, but not for long, and drops the connections.
func (f *followers) end(stop context.CancelFunc, patience time.Duration) {
	timer := time.AfterFunc(patience, stop)
	defer timer.Stop()
	f.wait.Wait()
	f.buyers.Close()
}
