package httpapi

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

// queuedBody is the body of a ticket of this rank, after a worker told its pace, and its tag.
func queuedBody(t *testing.T, rank int64, change func(*sale.Ticket, *sale.Snapshot, *sale.Progress)) (body ticketBody, tag string) {
	t.Helper()
	a, sales, ticket := queuedTicket(t, rank, change)
	s := sales.Find("phone")
	return a.body(s, "ada", ticket, time.Now()), ticketTag(s, ticket)
}

func queuedTicket(t *testing.T, rank int64, change func(*sale.Ticket, *sale.Snapshot, *sale.Progress)) (*API, *catalog.Catalog, sale.Ticket) {
	t.Helper()
	signer, err := auth.NewTicketSigner([]byte("a key that is long enough for it"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	ticket := sale.Ticket{Reservation: sale.Reservation{RID: "01935fd2-d6eb-7592-aa3e-cd665a5d9b60", UserID: "ada", Slot: 1, Rank: rank, AcceptedAt: now.Add(-time.Minute)},
		Status: sale.StatusQueued, UpdatedAt: now}
	snap := sale.Snapshot{SaleID: "phone", Epoch: 1, Version: 1, OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), Now: now, Rank: 5000}
	progress := sale.Progress{SaleID: "phone", Epoch: 1, Served: 1000, Worker: "a", Pace: 100}
	change(&ticket, &snap, &progress)
	sales := catalog.New()
	sales.Apply(sale.Entry{Sale: sale.Sale{ID: "phone", OpensAt: snap.OpensAt, ClosesAt: snap.ClosesAt}, Epoch: 1, Rev: 1})
	sales.Find("phone").Observe(snap, now, now)
	sales.Progress(progress)
	return &API{Parts: Parts{Signer: signer}}, sales, ticket
}

// Otherwise whoever follows misses a step: they are taken to know what no event said.
func TestEvents_AreNamedAfterWhatTheySay(t *testing.T) {
	t.Parallel()
	a, sales, ticket := queuedTicket(t, 0, func(*sale.Ticket, *sale.Snapshot, *sale.Progress) {})
	e := &events{api: a, sale: sales.Find("phone"), userID: "ada"}
	var over atomic.Bool
	var worker sync.WaitGroup
	worker.Go(func() {
		for served := int64(1001); !over.Load(); served++ {
			sales.Progress(sale.Progress{SaleID: "phone", Epoch: 1, Served: served, Worker: "a", Pace: 100})
		}
	})
	defer worker.Wait()
	defer over.Store(true)
	for range 10_000 {
		p, _ := e.sale.Progress()
		ticket.Rank = p.Served + 3 // then each step is another tag
		e.pending = nil
		e.say(ticket, time.Now())
		_, data, _ := strings.Cut(string(e.pending), "data: ")
		var said ticketBody
		if err := json.Unmarshal([]byte(data), &said); err != nil {
			t.Fatal(err)
		}
		if said.tag() != e.known {
			t.Fatalf("%d ahead in an event of id %s", *said.Ahead, e.known)
		}
	}
}

func TestTicket_SaysWhenItsOutcomeIsToBeExpected(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*sale.Ticket, *sale.Snapshot, *sale.Progress)
		known  bool
		state  sale.State
	}{
		"queued":           {func(*sale.Ticket, *sale.Snapshot, *sale.Progress) {}, true, sale.StateOpen},
		"in a paused sale": {func(_ *sale.Ticket, s *sale.Snapshot, _ *sale.Progress) { s.Paused = true }, true, sale.StatePaused},
		"in a closed sale": {func(_ *sale.Ticket, s *sale.Snapshot, _ *sale.Progress) { s.ClosesAt = s.OpensAt }, true, sale.StateClosed},
		"at a paused pace": {func(_ *sale.Ticket, _ *sale.Snapshot, p *sale.Progress) { p.Pace = 0 }, false, sale.StateOpen},
		"of another epoch": {func(_ *sale.Ticket, _ *sale.Snapshot, p *sale.Progress) { p.Epoch = 2 }, false, sale.StateOpen},
		"overtaken":        {func(k *sale.Ticket, _ *sale.Snapshot, _ *sale.Progress) { k.Rank = 700 }, false, sale.StateOpen},
		"no longer queued": {func(k *sale.Ticket, _ *sale.Snapshot, _ *sale.Progress) { k.Status = sale.StatusPaid }, false, sale.StateOpen},
		"by the rate alone": {func(_ *sale.Ticket, _ *sale.Snapshot, p *sale.Progress) {
			p.Worker, p.Pace, p.RatePerSecond = "", 0, 100
		}, true, sale.StateOpen},
		"and nothing to tell": {func(_ *sale.Ticket, _ *sale.Snapshot, p *sale.Progress) { p.Worker, p.Pace = "", 0 }, false, sale.StateOpen},
	} {
		b, _ := queuedBody(t, 2001, tc.change)
		if (b.ETA != nil) != tc.known || b.SaleState != tc.state {
			t.Errorf("%s: eta %v, sale %s", name, b.ETA, b.SaleState)
		}
		if b.ETA != nil && (b.ETA.Low > 10 || b.ETA.Low < 1 || b.ETA.High < 10 || b.ETA.High > 30) {
			t.Errorf("%s: 1000 ahead at 100 a second: %+v", name, *b.ETA)
		}
	}
}

// One pace is behind both: who is told to expect more is told to come back later.
func TestTicket_IsPolledAtThePaceOfItsETA(t *testing.T) {
	t.Parallel()
	updated := time.Now()
	at := func(change func(*sale.Progress)) (ticketBody, string) {
		return queuedBody(t, 1401, func(k *sale.Ticket, _ *sale.Snapshot, p *sale.Progress) {
			k.UpdatedAt = updated
			change(p)
		})
	}
	slow, slowTag := at(func(p *sale.Progress) { p.RatePerSecond = 1e6 })
	quick, quickTag := at(func(p *sale.Progress) { p.Pace = 400 })
	if slow.PollAfterMS < 2000 || slow.PollAfterMS > 2500 || quick.PollAfterMS >= 1000 || quick.ETA.High >= slow.ETA.High {
		t.Errorf("polled after %d and %d ms, at %+v and %+v", slow.PollAfterMS, quick.PollAfterMS, *slow.ETA, *quick.ETA)
	}
	if slowTag != quickTag {
		t.Error("another pace is another ETag")
	}
}
