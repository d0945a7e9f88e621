package chaos

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/history"
	"sluice/shared/client"
	"sluice/shared/sale"
)

// bought is a reservation as its buyer knows it.
type bought struct {
	buyer  int
	rid    string
	key    string // idempotency key that it was attempted under
	ticket client.Ticket
}

// several are reservations that a row gathers from many buyers.
type several struct {
	mu  sync.Mutex
	all []bought
}

func (s *several) add(b bought) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, b)
}

func (s *several) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

func (s *several) soFar() []bought {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// follow reads a ticket until it has its outcome, whatever stands in the way meanwhile,
// faults included, and has its buyer do what the row wants then. When the run is told to end
// it leaves all as it is.
func (l *load) follow(ctx context.Context, b bought) {
	ctx, cancel := context.WithTimeout(ctx, 2*l.round.patience)
	defer cancel()
	r := l.round
	defer context.AfterFunc(r.whole, cancel)()
	last, err := l.read(ctx, b, b.ticket)
	l.mu.Lock()
	delete(l.waiting, b.rid)
	l.mu.Unlock()
	if r.whole.Err() != nil {
		return
	}
	if err != nil {
		r.fail("I3", "the ticket of reservation %s has no outcome: it is %s: %v", b.rid, last.Status, err)
	}
	if r.outcome != nil {
		b.ticket = last
		r.outcome(ctx, b)
	}
}

// leastDecided is how many reservations must have their outcome for it to be seen again.
const leastDecided = 20

// decided waits until some reservations have their outcome, and returns them with it.
func (r *Round) decided(ctx context.Context) (all []bought, err error) {
	err = r.until(ctx, hitPatience, "reservations have their outcome", func() bool {
		all = r.load.decided()
		return len(all) >= leastDecided
	})
	return all, err
}

// decided are the reservations that have an outcome now, with it.
func (l *load) decided() (all []bought) {
	for _, w := range l.winners.All() {
		if last := w.Statuses[len(w.Statuses)-1]; last != sale.StatusQueued {
			all = append(all, bought{buyer: w.Buyer, rid: w.RID, ticket: client.Ticket{Ticket: w.Ticket, Status: last}})
		}
	}
	return all
}

// wantAsBefore wants tickets to show what they showed.
func (l *load) wantAsBefore(ctx context.Context, all []bought) {
	eachOf(all, func(b bought) {
		if got := l.look(ctx, b); got != b.ticket.Status {
			l.round.fail("I7", "the ticket of reservation %s was %s, and is %s", b.rid, b.ticket.Status, got)
		}
	})
	l.round.hit(0, "%d tickets that had their outcome before were read again after", len(all))
}

// lookAgain reads tickets once more.
func (l *load) lookAgain(ctx context.Context, all []bought) {
	eachOf(all, func(b bought) { l.look(ctx, b) })
}

// eachOf does something with each, many at a time.
func eachOf(all []bought, do func(b bought)) {
	var readers sync.WaitGroup
	var next atomic.Int64
	for range followers {
		readers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
				do(all[i])
			}
		})
	}
	readers.Wait()
}

// look reads a ticket once more, and says what it shows.
func (l *load) look(ctx context.Context, b bought) sale.Status {
	last, err := l.read(ctx, b, client.Ticket{Ticket: b.ticket.Ticket})
	if err != nil {
		l.round.fail("I7", "the ticket of reservation %s cannot be read any more: %v", b.rid, err)
	}
	return last.Status
}

// read reads a ticket until it is not queued, and at once if its status is not known.
// What it shows is of the history.
func (l *load) read(ctx context.Context, b bought, ticket client.Ticket) (client.Ticket, error) {
	reader, err := l.reader(b.buyer)
	if err != nil {
		return ticket, err
	}
	r := l.round
	return reader.Follow(ctx, ticket, func(t client.Ticket, took time.Duration) {
		ended := r.journal.Now()
		r.journal.Add(history.Event{Kind: history.Read, Sale: r.saleID, User: r.user(b.buyer), Began: ended - took, Ended: ended,
			Status: http.StatusOK, RID: b.rid, Ticket: string(t.Status)})
		l.winners.Status(b.rid, t.Status)
	})
}

// reader is a buyer's app, which asks the gateways in turn, from the buyer's own on.
func (l *load) reader(buyer int) (*client.Client, error) {
	r := l.round
	urls := make([]string, 0, len(r.stack.Info().Gateways))
	for i := range r.stack.Info().Gateways {
		urls = append(urls, r.gateway(buyer+i))
	}
	return l.buyers.Buyer(r.token(buyer), true, urls...)
}
