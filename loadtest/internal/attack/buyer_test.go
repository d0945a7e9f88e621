package attack

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/shared/client"
	"sluice/shared/sale"
)

func TestBuyer_FollowsATicketAsTheClientDoes(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url := serve(t, func(ctx *fasthttp.RequestCtx) {
		if waits := ctx.QueryArgs().Has("wait"); waits || string(ctx.Request.Header.Peek("Authorization")) != "Bearer jwt" {
			ctx.SetStatusCode(400)
			return
		}
		if asked.Add(1) < 3 {
			answers(200, `{"ticket":"x","status":"queued","poll_after_ms":1}`)(ctx)
			return
		}
		answers(200, `{"ticket":"x","status":"confirmed","poll_after_ms":0}`)(ctx)
	})
	b := NewBuyers(1, time.Second)
	t.Cleanup(b.Close)
	buyer, err := b.Buyer("jwt", true, url)
	if err != nil {
		t.Fatal(err)
	}
	var seen []sale.Status
	_, err = buyer.Follow(t.Context(), client.Ticket{Ticket: "x"}, func(ticket client.Ticket, _ time.Duration) {
		seen = append(seen, ticket.Status)
	})
	if want := []sale.Status{sale.StatusQueued, sale.StatusQueued, sale.StatusConfirmed}; err != nil || !slices.Equal(seen, want) {
		t.Fatalf("saw %v (%v), want %v", seen, err, want)
	}
}

func TestBuyers_ShareTheirConnections(t *testing.T) {
	t.Parallel()
	var under, most atomic.Int64
	url := serve(t, func(ctx *fasthttp.RequestCtx) {
		if n := under.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer under.Add(-1)
		<-time.After(5 * time.Millisecond) // the slow server under test
		answers(200, `{"tickets":[]}`)(ctx)
	})
	b := NewBuyers(2, 5*time.Second)
	t.Cleanup(b.Close)
	var buyers sync.WaitGroup
	for i := range 10 {
		buyers.Go(func() {
			buyer, err := b.Buyer(fmt.Sprint(i), false, url)
			if err == nil {
				_, err = buyer.MyTickets(t.Context(), "phone")
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	buyers.Wait()
	if most.Load() > 2 {
		t.Errorf("%d requests at once over 2 connections", most.Load())
	}
}
