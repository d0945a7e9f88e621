package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/wait"
)

const (
	backlogPatience = 2 * time.Minute // for all attempts
	backlogTries    = 10
	backlogRest     = time.Second // before another try: the stores may be behind
)

// backlog has attempts of n buyers accepted in a sale and returns their tickets, about
// in the order of their ranks. For an attempt that is answered otherwise, another
// buyer comes.
func (b *bench) backlog(ctx context.Context, saleID string, n int) ([]ticket, error) {
	var mu sync.Mutex
	tickets := make([]ticket, 0, n)
	next := b.buyers.Attempts(saleID)
	for try, sent := 0, 0; len(tickets) < n; try++ {
		if try == backlogTries {
			return nil, fmt.Errorf("cannot queue %d tickets in sale %s: %d of %d attempts were accepted", n, saleID, len(tickets), sent)
		}
		missing, from := n-len(tickets), sent
		m, err := loop.Load{
			URL: b.Stack.Gateways[0].URL, Connections: b.Many, Measured: backlogPatience, Most: missing, Want: http.StatusAccepted,
			Request: func(into []byte, i int) []byte { return next(into, from+i) },
			Answered: func(i int, body []byte) error {
				t, err := readTicket(from+i, body)
				mu.Lock()
				defer mu.Unlock()
				tickets = append(tickets, t)
				return err
			},
		}.Run(ctx)
		if err != nil && !errors.Is(err, loop.ErrNoneWanted) {
			return nil, err
		}
		if m.Unwanted > 0 && !wait.For(ctx, backlogRest) {
			return nil, ctx.Err()
		}
		sent += missing
		b.answered(saleID, m)
		b.unwanted["backlog of "+saleID] += m.Unwanted
	}
	return tickets, nil
}
