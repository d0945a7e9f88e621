package attack

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/shared/sale"
)

func TestAwaitOutcome_PollsAsToldUntilThereIsOne(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url := serve(t, func(ctx *fasthttp.RequestCtx) {
		if asked.Add(1) < 3 {
			answers(200, `{"ticket":"x","status":"queued","poll_after_ms":1}`)(ctx)
			return
		}
		answers(200, `{"ticket":"x","status":"confirmed","poll_after_ms":0}`)(ctx)
	})
	b := NewBuyers(1, time.Second)
	t.Cleanup(b.Close)
	var seen []sale.Status
	err := b.AwaitOutcome(context.Background(), url, "t", TicketBody{Ticket: "x", Status: sale.StatusQueued}, func(s sale.Status, _ time.Duration) {
		seen = append(seen, s)
	})
	if want := []sale.Status{sale.StatusQueued, sale.StatusQueued, sale.StatusConfirmed}; err != nil || !slices.Equal(seen, want) {
		t.Fatalf("saw %v (%v), want %v", seen, err, want)
	}
}

func TestAwaitOutcome_GivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	url := serve(t, answers(200, `{"ticket":"x","status":"queued","poll_after_ms":5}`))
	b := NewBuyers(1, time.Second)
	t.Cleanup(b.Close)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := b.AwaitOutcome(ctx, url, "t", TicketBody{Ticket: "x", Status: sale.StatusQueued}, func(sale.Status, time.Duration) {})
	if !errors.Is(err, ErrNoOutcome) {
		t.Fatalf("error %v, want ErrNoOutcome", err)
	}
}

func TestMyTickets_ReadsTheList(t *testing.T) {
	t.Parallel()
	url := serve(t, func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) != "/v1/sales/phone/tickets/me" || string(ctx.Request.Header.Peek("Authorization")) != "Bearer jwt" {
			ctx.SetStatusCode(400)
			return
		}
		answers(200, `{"tickets":[{"ticket":"b","status":"paid"},{"ticket":"a","status":"queued"}]}`)(ctx)
	})
	b := NewBuyers(1, time.Second)
	t.Cleanup(b.Close)
	mine, err := b.MyTickets(url, "jwt", "phone")
	if err != nil || len(mine) != 2 || mine[0].Ticket != "b" || mine[1].Status != sale.StatusQueued {
		t.Fatalf("tickets %+v, %v", mine, err)
	}
	if _, err := b.MyTickets(url, "other", "phone"); err == nil {
		t.Error("a refusal is read as a list")
	}
}
