package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/history"
	"sluice/shared/sale"
)

const (
	historyClients = 5
	historyCalls   = 8 // of each
	historyStock   = 2
	historyLimit   = 2
	// A gateway may refuse from memory until it has read again what others gave back: every
	// second, with threefold slack.
	staleRefusal = 3 * time.Second
)

// recorded is one small sale, which several clients buy of, cancel and adjust at once.
type recorded struct {
	*clicking
	began time.Time

	mu         sync.Mutex
	operations []history.Operation
	cancelable []won // orders that nobody has taken to cancel
	adjusted   int
}

// won is a ticket that a client was told of.
type won struct {
	user        int
	rid, ticket string
}

// linearizable wants the answers of one small sale to be those of a sale that serves one
// call after the other.
func (s *scene) linearizable(ctx context.Context, seed uint64, over *http.Client) {
	s.t.Helper()
	r := &recorded{clicking: &clicking{scene: s, id: fmt.Sprintf("history-%d", seed)}}
	operations := r.record(ctx, seed, over)
	if err := history.Linearizable(historyStock, historyLimit, operations); err != nil {
		s.t.Error(err)
	}
	s.saleID = r.id
	s.rest(ctx, nil, time.Minute)
}

// record has clients do what the seed draws, and returns what they were answered.
func (r *recorded) record(ctx context.Context, seed uint64, over *http.Client) []history.Operation {
	r.began = time.Now()
	var clients sync.WaitGroup
	for n := range historyClients {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		clients.Go(func() {
			for range historyCalls {
				r.one(ctx, n, random, over)
			}
		})
	}
	clients.Wait()
	return r.operations
}

func (r *recorded) one(ctx context.Context, client int, random *rand.Rand, over *http.Client) {
	switch n := random.IntN(10); {
	case n < 6:
		key := []string{"", "", "k1", "k2"}[random.IntN(4)]
		r.buy(ctx, client, click{identity: identity{user: random.IntN(3), key: key}, gateway: random.IntN(2)}, random.IntN(6) == 0, over)
	case n < 9:
		if w, ok := r.takeOne(); ok {
			r.cancel(ctx, client, w)
		}
	default:
		r.adjust(ctx, client, []int64{-1, 1}[random.IntN(2)])
	}
}

// buy attempts once. Somebody impatient leaves before there can be an answer.
func (r *recorded) buy(ctx context.Context, client int, c click, impatient bool, over *http.Client) {
	o := history.Operation{Client: client, Do: history.Buy, User: buyerID(c.user), Key: c.key, Began: time.Since(r.began)}
	if impatient {
		leaves, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		ctx = leaves
	}
	a := r.click(ctx, over, c)
	o.Ended = time.Since(r.began)
	if a.Ticket.Ticket != "" {
		rid, err := attack.RID(a.Ticket.Ticket)
		if err != nil {
			r.t.Error(err)
		}
		o.RID = rid
	}
	switch {
	case a.status == http.StatusAccepted:
		o.Answered, o.Answer = true, history.Accepted
		r.mu.Lock()
		r.cancelable = append(r.cancelable, won{c.user, o.RID, a.Ticket.Ticket})
		r.mu.Unlock()
	case a.status == http.StatusOK:
		o.Answered, o.Answer = true, history.Replayed
	case strings.HasSuffix(a.problem, "/sold-out"):
		o.Answered, o.Answer, o.Began = true, history.SoldOut, max(0, o.Began-staleRefusal)
	case strings.HasSuffix(a.problem, "/limit-reached"):
		o.Answered, o.Answer = true, history.Limit
	case a.status != 0 && a.status != http.StatusServiceUnavailable:
		r.t.Errorf("%v: %d %s", o, a.status, a.problem)
	}
	r.note(o)
}

func (r *recorded) note(o history.Operation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.operations = append(r.operations, o)
}

func (r *recorded) takeOne() (w won, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.cancelable) == 0 {
		return w, false
	}
	w, r.cancelable = r.cancelable[0], r.cancelable[1:]
	return w, true
}

// cancel is done when its ticket says so: Redis has the unit again.
func (r *recorded) cancel(ctx context.Context, client int, w won) {
	o := history.Operation{Client: client, Do: history.GiveBack, RID: w.rid, Began: time.Since(r.began), Answered: true, Answer: history.Done}
	worker := r.stack.Info().Workers[0].URL
	r.until(ctx, "the order is there to be cancelled", func() bool {
		status, _ := r.send(ctx, http.MethodPost, worker+"/v1/orders/"+w.rid+"/cancel", r.tokens[w.user], "")
		return status == http.StatusOK
	})
	r.until(ctx, "the ticket is cancelled", func() bool {
		_, text := r.send(ctx, http.MethodGet, r.gateway(0)+"/v1/tickets/"+w.ticket, r.tokens[w.user], "")
		return strings.Contains(text, string(sale.StatusCancelled))
	})
	o.Ended = time.Since(r.began)
	r.note(o)
}

func (r *recorded) adjust(ctx context.Context, client int, delta int64) {
	r.mu.Lock()
	r.adjusted++
	id := fmt.Sprintf("%s-%d", r.id, r.adjusted)
	r.mu.Unlock()
	o := history.Operation{Client: client, Do: history.Adjust, Delta: delta, Began: time.Since(r.began), Answered: true, Answer: history.Done}
	info := r.stack.Info()
	status, text := r.send(ctx, http.MethodPost, info.Workers[0].AdminURL+"/admin/v1/sales/"+r.id+"/stock", info.Secrets.AdminToken,
		fmt.Sprintf(`{"adjustment_id":%q,"delta":%d}`, id, delta))
	o.Ended = time.Since(r.began)
	switch {
	case status == http.StatusConflict && strings.Contains(text, "unsold"):
		o.Answer = history.Unsold
	case status != http.StatusOK:
		o.Answered = false // the loop finishes it, some time
	}
	r.note(o)
}
