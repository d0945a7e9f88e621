package bench

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

const (
	longPollQuery   = "?wait=25" // seconds, the longest
	longPollTimeout = 25*time.Second + loop.AnswerTimeout
)

// longPolls are buyers who wait for their tickets' outcome, each over a connection
// of its own.
type longPolls struct {
	cancel  context.CancelFunc
	conns   []*loop.Connection
	waiting sync.WaitGroup
	errs    []error // by buyer, once all have ended

	mu    sync.Mutex
	times []time.Time // when one was told of an outcome, in order
	other int         // answers without a ticket
}

// wait makes a buyer wait for each ticket, until stop.
func (b *bench) wait(ctx context.Context, tickets []ticket) (*longPolls, error) {
	address, err := loop.AddressOf(b.Stack.Gateways[0].URL)
	if err != nil {
		return nil, err
	}
	conns, err := loop.DialMany(ctx, address, len(tickets))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &longPolls{cancel: cancel, conns: conns, errs: make([]error, len(tickets))}
	for k, c := range conns {
		request := b.read(nil, tickets[k], longPollQuery)
		l.waiting.Go(func() { l.errs[k] = l.follow(ctx, c, tickets[k].buyer, request) })
	}
	return l, nil
}

// follow asks until there is an outcome.
func (l *longPolls) follow(ctx context.Context, c *loop.Connection, buyer int, request []byte) error {
	for ctx.Err() == nil {
		if err := c.Within(longPollTimeout); err != nil {
			return err
		}
		status, err := c.Do(request)
		if err != nil {
			return err
		}
		if status != http.StatusOK {
			l.answeredOtherwise()
			wait.For(ctx, pollAgain)
			continue
		}
		t, err := readTicket(buyer, c.Answer.Body())
		if err != nil {
			return err
		}
		if t.status != sale.StatusQueued {
			l.told(time.Now())
			return nil
		}
	}
	return nil
}

func (l *longPolls) told(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = append(l.times, now)
}

func (l *longPolls) answeredOtherwise() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.other++
}

// join waits until every buyer has their outcome or ctx ends.
func (l *longPolls) join(ctx context.Context) error {
	defer context.AfterFunc(ctx, l.interrupt)()
	l.waiting.Wait()
	return errors.Join(append([]error{ctx.Err()}, l.errs...)...)
}

// interrupt breaks off every wait.
func (l *longPolls) interrupt() {
	l.cancel()
	loop.CloseAll(l.conns)
}

// stop ends all that still wait.
func (l *longPolls) stop() {
	l.interrupt()
	l.waiting.Wait()
}

// What follows is for when all have ended; first and last are zero when none was
// told of an outcome.
func (l *longPolls) woken() int    { return len(l.times) }
func (l *longPolls) unwanted() int { return l.other }

func (l *longPolls) first() (t time.Time) {
	if len(l.times) > 0 {
		t = l.times[0]
	}
	return t
}

func (l *longPolls) last() (t time.Time) {
	if n := len(l.times); n > 0 {
		t = l.times[n-1]
	}
	return t
}
