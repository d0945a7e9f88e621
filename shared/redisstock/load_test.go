package redisstock

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

func TestFence_StopsTheLiveEpochUntilTheFlip(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 5)
	must(t, c.Fence(t.Context(), s.ID, 2, "next"))
	for _, epoch := range []int64{1, 2} {
		if _, _, err := c.Reserve(t.Context(), s.ID, epoch, []sale.Attempt{attempt("ada")}); !errors.Is(err, sale.ErrStale) {
			t.Errorf("reserve at epoch %d behind the fence: %v", epoch, err)
		}
	}
	e := entry(s)
	e.Epoch = 2
	must(t, c.Flip(t.Context(), "next", Live{Entry: e, Total: 5, Stock: 3}))
	snap, d, err := c.Reserve(t.Context(), s.ID, 2, []sale.Attempt{attempt("ada")})
	must(t, err)
	equal(t, "code", d[0].Code, sale.DecidedAccepted)
	equal(t, "stock", snap.Stock, 2)
	if snap.Version < 2 {
		t.Errorf("version %d fell back", snap.Version)
	}
}

func TestFence_HigherEpochWinsAndTheLoserCannotFlip(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := openSale(5)
	must(t, c.Fence(t.Context(), s.ID, 1, "slow"))
	must(t, c.Fence(t.Context(), s.ID, 2, "fast"))
	e := entry(s)
	if err := c.Flip(t.Context(), "slow", Live{Entry: e, Total: 5, Stock: 5}); !errors.Is(err, ErrFence) {
		t.Errorf("flip of the fenced-off loader: %v", err)
	}
	if err := c.LoadAllow(t.Context(), s.ID, 1, "slow", []string{"ada"}); !errors.Is(err, ErrFence) {
		t.Errorf("load of the fenced-off loader: %v", err)
	}
	if err := c.Fence(t.Context(), s.ID, 2, "late"); !errors.Is(err, ErrFence) {
		t.Errorf("fence of an epoch that is taken: %v", err)
	}
	e.Epoch = 2
	if err := c.Flip(t.Context(), "guessed", Live{Entry: e, Total: 5, Stock: 5}); !errors.Is(err, ErrFence) {
		t.Errorf("flip with another token: %v", err)
	}
	must(t, c.Flip(t.Context(), "fast", Live{Entry: e, Total: 5, Stock: 5}))
}

func TestFlip_RefusedWhenTheServerWasRestartedSinceTheFence(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := openSale(5)
	must(t, c.Fence(t.Context(), s.ID, 1, "token"))
	must(t, c.rdb.HSet(t.Context(), keys(s.ID, 1)[0], "run_id", "of another process").Err())
	if err := c.Flip(t.Context(), "token", Live{Entry: entry(s), Total: 5, Stock: 5}); !errors.Is(err, ErrFence) {
		t.Errorf("flip on another server: %v", err)
	}
}

func TestLoadTickets_EveryTicketAnswersAsBefore(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := openSale(10, limit(2))
	at := time.Now().Add(-time.Minute).Truncate(time.Millisecond).UTC()
	ticket := func(rank int64, user, key string, slot int, status sale.Status) sale.Ticket {
		return sale.Ticket{Reservation: sale.Reservation{RID: newRID(), UserID: user, Slot: slot, Key: key, Rank: rank, AcceptedAt: at},
			Status: status, UpdatedAt: at}
	}
	gone, held, keyed := ticket(1, "ada", "", 1, sale.StatusExpired), ticket(2, "ada", "", 1, sale.StatusConfirmed), ticket(3, "bob", "k", 1, sale.StatusExpired)
	held.PayBy = at.Add(15 * time.Minute)
	must(t, c.Fence(t.Context(), s.ID, 1, "token"))
	parts := []LoadTicket{{Ticket: gone}, {Ticket: held, HoldsSlot: true}, {Ticket: keyed}}
	must(t, c.LoadTickets(t.Context(), s.ID, 1, "token", parts))
	must(t, c.LoadTickets(t.Context(), s.ID, 1, "token", parts)) // a lost reply, repeated
	must(t, c.Flip(t.Context(), "token", Live{Entry: entry(s), Total: 10, Stock: 9, Rank: 3, Accepted: 3, Served: 3, Given: 2, Unpaid: 1}))
	for _, want := range []sale.Ticket{gone, held, keyed} {
		if diff := cmp.Diff(want, readTicket(t, c, s, want.RID)); diff != "" {
			t.Error(diff)
		}
	}
	bobAgain := sale.Attempt{RID: newRID(), UserID: "bob", Key: "k"}
	snap, d := reserve(t, c, s, attempt("ada"), bobAgain, attempt("bob"))
	equal(t, "ada's keyless attempt", d[0].Ticket.RID, held.RID)
	equal(t, "bob's bound key", d[1].Ticket.RID, keyed.RID)
	equal(t, "bob without a key buys again", d[2].Code, sale.DecidedAccepted)
	equal(t, "its rank", d[2].Ticket.Rank, 4)
	equal(t, "stock", snap.Stock, 8)
	snap, r := settle(t, c, s, confirmed(held.RID))
	equal(t, "settled before", r[0], sale.SettleAlready)
	equal(t, "served", snap.Served, 3)
}

func TestDialled_OnceTheConnectionsStand(t *testing.T) {
	t.Parallel()
	server, err := devstack.StartRedis(t.Context(), devstack.Options{})
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	must(t, server.Kill()) // Redis comes later than who needs it
	c, err := Open(Config{URL: server.URL(), PoolSize: 8, MinIdle: 4, Timeout: 5 * time.Second})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	if c.LoadScripts(t.Context()) == nil || c.Dialled(t.Context()) == nil {
		t.Error("dialled while nobody listens")
	}
	must(t, server.Restart(t.Context()))
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := c.Dialled(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func TestConfigure_NewerRevMovesTheWindowAndRaisesTheVersion(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 5)
	a := attempt("ada")
	reserve(t, c, s, a)
	e := entry(s)
	e.Rev, e.Paused = 3, true
	e.ClosesAt = s.ClosesAt.Add(time.Hour).Truncate(time.Millisecond).UTC()
	snap, changed, err := c.Configure(t.Context(), e)
	must(t, err)
	if !changed.Changed || !snap.Paused || !snap.ClosesAt.Equal(e.ClosesAt) || snap.Version != 2 || snap.Stock != 4 {
		t.Errorf("changed %v: %+v", changed, snap)
	}
	_, d := reserve(t, c, s, attempt("bob"), attempt("ada"))
	equal(t, "bob while paused", d[0].Code, sale.DecidedPaused)
	equal(t, "ada's ticket while paused", d[1].Ticket.RID, a.RID)
	for _, rev := range []int64{3, 2} {
		old := entry(s)
		old.Rev = rev
		snap, changed, err = c.Configure(t.Context(), old)
		must(t, err)
		if changed.Changed || !snap.Paused || snap.Version != 2 {
			t.Errorf("rev %d replaced rev 3: %+v", rev, snap)
		}
	}
	e.Epoch = 2
	if _, _, err := c.Configure(t.Context(), e); !errors.Is(err, sale.ErrStale) {
		t.Errorf("another epoch: %v", err)
	}
}

// A Redis that comes back with its data has another run id, whatever the data say.
func TestEveryScript_StaleOnceAnotherProcessExecutesIt(t *testing.T) {
	t.Parallel()
	server, err := devstack.StartRedis(t.Context(), devstack.Options{})
	must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	c, err := Open(Config{URL: server.URL(), Timeout: 5 * time.Second})
	must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	s := newLoadedSale(t, c, 5)
	a := attempt("ada")
	reserve(t, c, s, a)
	must(t, server.Stop()) // in good order: nothing is lost, but nobody could know
	must(t, server.Restart(t.Context()))
	for name, err := range everyCall(t, c, s, a.RID) {
		if !errors.Is(err, sale.ErrStale) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, c.Fence(t.Context(), s.ID, 2, "next"))
}

func TestEveryScript_StaleWhenAKeyIsGone(t *testing.T) {
	t.Parallel()
	c := connect(t)
	for i, gone := range map[string]int{"stock": 1, "slots": 3, "tickets": 5, "counters": 7} {
		s := newLoadedSale(t, c, 5)
		a := attempt("ada")
		reserve(t, c, s, a)
		must(t, c.rdb.Del(t.Context(), keys(s.ID, 1)[gone]).Err())
		for name, err := range everyCall(t, c, s, a.RID) {
			if !errors.Is(err, sale.ErrStale) {
				t.Errorf("%s without %s: %v", name, i, err)
			}
		}
	}
}

// everyCall makes every call that needs a live sale and returns its error.
func everyCall(t *testing.T, c *Client, s sale.Sale, rid string) map[string]error {
	t.Helper()
	ctx, errs := t.Context(), map[string]error{}
	_, _, errs["reserve"] = c.Reserve(ctx, s.ID, 1, []sale.Attempt{attempt("bob")})
	_, _, errs["settle"] = c.Settle(ctx, s.ID, 1, []sale.Settlement{confirmed(rid)})
	_, _, errs["release"] = c.Release(ctx, s.ID, 1, []sale.Release{{RID: rid, Status: sale.StatusExpired, Give: 1}})
	_, errs["overdue"] = c.Overdue(ctx, s.ID, 1, 0, 10)
	errs["handed over"] = c.HandedOver(ctx, s.ID, 1, []string{rid})
	_, _, errs["tickets"] = c.Tickets(ctx, s.ID, 1, []string{rid})
	_, _, errs["tickets of a user"] = c.TicketsOf(ctx, s.ID, 1, "ada")
	_, _, errs["snapshot"] = c.Snapshot(ctx, s.ID, 1)
	e := entry(s)
	e.Rev = 9
	_, _, errs["configure"] = c.Configure(ctx, e)
	return errs
}

func TestOlderEpochs_AreThoseWithTicketsUntilTheyAreDropped(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 5)
	_, _, err := c.Reserve(t.Context(), s.ID, 1, []sale.Attempt{attempt("ada")})
	must(t, err)
	must(t, c.Fence(t.Context(), s.ID, 3, "next"))
	older := func(epoch int64) []int64 {
		t.Helper()
		left, err := c.OlderEpochs(t.Context(), s.ID, epoch)
		must(t, err)
		return left
	}
	equal(t, "before 3", len(older(3)), 1)
	equal(t, "before 3", older(3)[0], int64(1))
	equal(t, "before 1", len(older(1)), 0)
	equal(t, "hundreds later", older(3*clearing + 1)[0], int64(1))
	must(t, c.DropOlderEpochs(t.Context(), s.ID, 3))
	equal(t, "dropped", len(older(3)), 0)
}
