package redisstock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"sluice/shared/sale"
)

func expired(rid string) sale.Release {
	return sale.Release{RID: rid, Status: sale.StatusExpired, Give: 1}
}

func confirmed(rid string) sale.Settlement {
	return sale.Settlement{RID: rid, Status: sale.StatusConfirmed, PayBy: time.Now().Add(time.Minute).Truncate(time.Millisecond).UTC()}
}

func release(t testing.TB, c *Client, s sale.Sale, releases ...sale.Release) (sale.Snapshot, []sale.Released) {
	t.Helper()
	snap, results, err := c.Release(t.Context(), s.ID, 1, releases)
	must(t, err)
	return snap, results
}

func settle(t testing.TB, c *Client, s sale.Sale, settlements ...sale.Settlement) (sale.Snapshot, []sale.Settled) {
	t.Helper()
	snap, results, err := c.Settle(t.Context(), s.ID, 1, settlements)
	must(t, err)
	return snap, results
}

func TestSettle_ForwardOnlyServedOnceAndOffTheHandOff(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 2)
	a := attempt("ada")
	reserve(t, c, s, a)
	show := confirmed(a.RID)
	snap, r := settle(t, c, s, show, show)
	equal(t, "first", r[0], sale.SettleDone)
	equal(t, "repeated", r[1], sale.SettleAlready)
	equal(t, "served", snap.Served, 1)
	equal(t, "handoff", handOff(t, c, s), 0)
	equal(t, "pay by", readTicket(t, c, s, a.RID).PayBy, show.PayBy)
	snap, r = settle(t, c, s, sale.Settlement{RID: a.RID, Status: sale.StatusPaid}, show)
	equal(t, "paid", r[0], sale.SettleDone)
	equal(t, "confirmed after paid", r[1], sale.SettleAlready)
	equal(t, "status", readTicket(t, c, s, a.RID).Status, sale.StatusPaid)
	equal(t, "unpaid", snap.Unpaid, 0)
	equal(t, "stock", snap.Stock, 1)
}

func TestSettle_ATicketThatCannotBeReadIsNobodyElsesFault(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 2)
	a, b := attempt("ada"), attempt("bob")
	reserve(t, c, s, a, b)
	must(t, c.rdb.HSet(t.Context(), ticketsKey(s.ID, 1), a.RID, "[]").Err())
	_, r := settle(t, c, s, confirmed(a.RID), confirmed(b.RID))
	equal(t, "ada", r[0], sale.SettleUnknown)
	equal(t, "bob", r[1], sale.SettleDone)
	equal(t, "listed for hand-over", handOff(t, c, s), 1)
}

func TestSettle_ToAnotherStatusWritesNothing(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 2)
	a, b := attempt("ada"), attempt("bob")
	reserve(t, c, s, a, b)
	for _, status := range []sale.Status{sale.StatusQueued, sale.StatusExpired, "sold", ""} {
		if _, _, err := c.Settle(t.Context(), s.ID, 1, []sale.Settlement{confirmed(a.RID), {RID: b.RID, Status: status}}); err == nil {
			t.Errorf("settled to %q", status)
		}
	}
	equal(t, "ada", readTicket(t, c, s, a.RID).Status, sale.StatusQueued)
	equal(t, "bob", readTicket(t, c, s, b.RID).Status, sale.StatusQueued)
}

func TestSettle_MixedStatesInOneCallEachHaveTheirResult(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 4)
	a, b, other, last := attempt("ada"), attempt("bob"), attempt("cyd"), attempt("dan")
	reserve(t, c, s, a, b, other, last)
	later := confirmed(last.RID)
	later.PayBy = later.PayBy.Add(time.Minute)
	snap, r := settle(t, c, s, confirmed(a.RID), confirmed(newRID()), confirmed(b.RID),
		sale.Settlement{RID: other.RID, Status: sale.StatusPaid}, later)
	want := []sale.Settled{sale.SettleDone, sale.SettleUnknown, sale.SettleDone, sale.SettleDone, sale.SettleDone}
	if !slices.Equal(r, want) {
		t.Errorf("results %v, want %v", r, want)
	}
	equal(t, "served", snap.Served, 4)
	equal(t, "unpaid", snap.Unpaid, 3)
	equal(t, "pay by", readTicket(t, c, s, last.RID).PayBy, later.PayBy)
	equal(t, "paid one's pay by", readTicket(t, c, s, other.RID).PayBy, time.Time{})
}

func TestSettle_UnknownRIDMovesNothing(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 2)
	snap, r := settle(t, c, s, confirmed(newRID()))
	equal(t, "result", r[0], sale.SettleUnknown)
	equal(t, "served", snap.Served, 0)
}

func TestRelease_ManyAtOnceGiveBackOnce(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 1)
	a := attempt("ada")
	reserve(t, c, s, a)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			if _, _, err := c.Release(context.WithoutCancel(t.Context()), s.ID, 1, []sale.Release{expired(a.RID)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	snap, r := release(t, c, s, expired(a.RID))
	equal(t, "result", r[0], sale.ReleaseAlready)
	equal(t, "stock", snap.Stock, 1)
	equal(t, "given", snap.Given, 1)
	equal(t, "unpaid", snap.Unpaid, 0)
	equal(t, "served", snap.Served, 1)
}

func TestRelease_ClearsSoldOutAndRaisesTheVersion(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 1)
	a := attempt("ada")
	full, _ := reserve(t, c, s, a)
	snap, _ := release(t, c, s, expired(a.RID))
	equal(t, "flag", snap.SoldOut, false)
	equal(t, "version", snap.Version, full.Version+1)
	_, d := reserve(t, c, s, attempt("bob"))
	equal(t, "bob", d[0].Code, sale.DecidedAccepted)
}

func TestRelease_WithoutGiveMovesNoUnit(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 1)
	a := attempt("ada")
	reserve(t, c, s, a)
	snap, _ := release(t, c, s, sale.Release{RID: a.RID, Status: sale.StatusRejected, Reason: sale.ReasonSurplus})
	equal(t, "stock", snap.Stock, 0)
	equal(t, "flag", snap.SoldOut, true)
	got := readTicket(t, c, s, a.RID)
	equal(t, "status", got.Status, sale.StatusRejected)
	equal(t, "reason", got.Reason, sale.ReasonSurplus)
}

func TestRelease_DuplicatePointsItsSlotToTheHolder(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := openSale(5)
	holder := sale.Ticket{Reservation: sale.Reservation{RID: newRID(), UserID: "ada", Slot: 1, Rank: 1, AcceptedAt: time.Now()}, Status: sale.StatusConfirmed}
	must(t, c.Fence(t.Context(), s.ID, 1, "token"))
	must(t, c.LoadTickets(t.Context(), s.ID, 1, "token", []LoadTicket{{Ticket: holder}})) // lost its slot in Redis
	must(t, c.Flip(t.Context(), "token", Live{Entry: entry(s), Total: 5, Stock: 4, Rank: 1, Accepted: 1}))
	a := sale.Attempt{RID: newRID(), UserID: "ada", Key: "k"}
	reserve(t, c, s, a)
	release(t, c, s, sale.Release{RID: a.RID, Status: sale.StatusRejected, Reason: sale.ReasonDuplicate, Holder: holder.RID})
	_, mine, err := c.TicketsOf(t.Context(), s.ID, 1, "ada")
	must(t, err)
	equal(t, "tickets", len(mine), 1)
	equal(t, "the holder's", mine[0].RID, holder.RID)
	_, d := reserve(t, c, s, sale.Attempt{RID: newRID(), UserID: "ada", Key: "k2"})
	equal(t, "slot stays taken", d[0].Code, sale.DecidedLimit)
}

func TestRelease_KeepsTheSlotWhenTheSaleAllowsNoSecondPurchase(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 5, noRebuy)
	a, b := attempt("ada"), attempt("bob")
	reserve(t, c, s, a, b)
	release(t, c, s, expired(a.RID), sale.Release{RID: b.RID, Status: sale.StatusRejected, Reason: sale.ReasonSurplus})
	_, d := reserve(t, c, s, attempt("ada"), attempt("bob"))
	equal(t, "ada sees the expired ticket", d[0].Ticket.RID, a.RID)
	equal(t, "bob never bought", d[1].Code, sale.DecidedAccepted)
}

func TestRelease_OldTicketStillAnswersAfterBuyingAgain(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 5)
	a, again := attempt("ada"), attempt("ada")
	reserve(t, c, s, a)
	release(t, c, s, expired(a.RID))
	reserve(t, c, s, again)
	equal(t, "old ticket", readTicket(t, c, s, a.RID).Status, sale.StatusExpired)
	_, mine, err := c.TicketsOf(t.Context(), s.ID, 1, "ada")
	must(t, err)
	equal(t, "tickets/me", mine[0].RID, again.RID)
}

func TestRelease_UnknownRIDMovesNothing(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 5)
	snap, r := release(t, c, s, expired(newRID()))
	equal(t, "result", r[0], sale.ReleaseUnknown)
	equal(t, "stock", snap.Stock, 5)
	equal(t, "version", snap.Version, 1)
}

func TestOverdue_ListsOldEntriesOnly(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 5)
	a, b := attempt("ada"), attempt("bob")
	reserve(t, c, s, a, b)
	must(t, c.HandedOver(t.Context(), s.ID, 1, []string{b.RID}))
	late, err := c.Overdue(t.Context(), s.ID, 1, -time.Second, 10)
	must(t, err)
	equal(t, "listed", len(late), 1)
	equal(t, "rid", late[0].RID, a.RID)
	early, err := c.Overdue(t.Context(), s.ID, 1, time.Minute, 10)
	must(t, err)
	equal(t, "not yet overdue", len(early), 0)
}

func TestOverdue_ListsEntriesDatedInTheFuture(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 5)
	a := attempt("ada")
	reserve(t, c, s, a)
	future := float64(time.Now().Add(time.Hour).UnixMilli()) // as after a step back of the clock
	must(t, c.rdb.ZAdd(t.Context(), keys(s.ID, 1)[6], redis.Z{Score: future, Member: a.RID}).Err())
	listed, err := c.Overdue(t.Context(), s.ID, 1, time.Minute, 10)
	must(t, err)
	equal(t, "listed", len(listed), 1)
	reserve(t, c, s, attempt("bob"), attempt("cyn"))
	listed, err = c.Overdue(t.Context(), s.ID, 1, -time.Second, 2)
	must(t, err)
	equal(t, "at most", len(listed), 2)
}

func TestEveryCall_WrongEpochIsStaleAndWritesNothing(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 5)
	a := attempt("ada")
	reserve(t, c, s, a)
	ctx := t.Context()
	calls := map[string]func(epoch int64) error{
		"reserve": func(e int64) error { _, _, err := c.Reserve(ctx, s.ID, e, []sale.Attempt{attempt("bob")}); return err },
		"settle": func(e int64) error {
			_, _, err := c.Settle(ctx, s.ID, e, []sale.Settlement{confirmed(a.RID)})
			return err
		},
		"release":     func(e int64) error { _, _, err := c.Release(ctx, s.ID, e, []sale.Release{expired(a.RID)}); return err },
		"handed over": func(e int64) error { return c.HandedOver(ctx, s.ID, e, []string{a.RID}) },
		"overdue":     func(e int64) error { _, err := c.Overdue(ctx, s.ID, e, 0, 10); return err },
		"tickets":     func(e int64) error { _, _, err := c.Tickets(ctx, s.ID, e, []string{a.RID}); return err },
		"tickets of":  func(e int64) error { _, _, err := c.TicketsOf(ctx, s.ID, e, "ada"); return err },
		"snapshot":    func(e int64) error { _, _, err := c.Snapshot(ctx, s.ID, e); return err },
	}
	for name, call := range calls {
		for _, epoch := range []int64{0, 2} {
			if err := call(epoch); !errors.Is(err, sale.ErrStale) {
				t.Errorf("%s at epoch %d: %v, want ErrStale", name, epoch, err)
			}
		}
	}
	snap, h, err := c.Snapshot(ctx, s.ID, 1)
	must(t, err)
	equal(t, "stock", snap.Stock, 4)
	equal(t, "handoff", h.Count, 1)
	equal(t, "status", readTicket(t, c, s, a.RID).Status, sale.StatusQueued)
}

func TestEachTicket_VisitsEveryTicket(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 2000)
	want := make(map[string]bool)
	for range 8 {
		batch := make([]sale.Attempt, 250)
		for i := range batch {
			batch[i] = attempt(newRID())
			want[batch[i].RID] = true
		}
		reserve(t, c, s, batch...)
	}
	seen := make(map[string]bool)
	must(t, c.EachTicket(t.Context(), s.ID, 1, func(k sale.Ticket) error {
		seen[k.RID] = true
		if !want[k.RID] || k.Status != sale.StatusQueued || k.Slot != 1 {
			t.Errorf("unexpected ticket %+v", k)
		}
		return nil
	}))
	equal(t, "tickets", len(seen), len(want))
	stop := errors.New("enough")
	if err := c.EachTicket(t.Context(), s.ID, 1, func(sale.Ticket) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("visit's error: %v", err)
	}
}
