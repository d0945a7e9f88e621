package redisstock

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sluice/shared/sale"
)

func TestReserve_TakesOneUnitAndIsListedForHandOver(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 3)
	a := attempt("ada")
	snap, d := reserve(t, c, s, a)
	want := sale.Reservation{RID: a.RID, UserID: "ada", Slot: 1, Rank: 1, AcceptedAt: d[0].Ticket.AcceptedAt}
	if diff := cmp.Diff(want, d[0].Ticket.Reservation); diff != "" || d[0].Code != sale.DecidedAccepted || !d[0].InHandOff {
		t.Errorf("decision %+v\n%s", d[0], diff)
	}
	equal(t, "stock", snap.Stock, 2)
	equal(t, "accepted", snap.Accepted, 1)
	equal(t, "unpaid", snap.Unpaid, 1)
	if age := snap.Now.Sub(d[0].Ticket.AcceptedAt); age < 0 || age > time.Second {
		t.Errorf("accepted %v before the reply", age)
	}
}

func TestReserve_SameRIDGetsTheStoredOutcomeAndMovesNothing(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 3)
	a := attempt("ada")
	before, first := reserve(t, c, s, a)
	after, again := reserve(t, c, s, a)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	equal(t, "stock", after.Stock, before.Stock)
	equal(t, "version", after.Version, before.Version)
}

func TestReserve_SameRIDAfterReleaseMovesNothing(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 3)
	a := attempt("ada")
	reserve(t, c, s, a)
	release(t, c, s, expired(a.RID))
	snap, d := reserve(t, c, s, a)
	equal(t, "status", d[0].Ticket.Status, sale.StatusExpired)
	equal(t, "stock", snap.Stock, 3)
}

func TestReserve_SecondAttemptIsReplay(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 3)
	first := attempt("ada")
	_, d := reserve(t, c, s, first, attempt("ada")) // in one batch
	equal(t, "second code", d[1].Code, sale.DecidedReplay)
	equal(t, "second rid", d[1].Ticket.RID, first.RID)
	must(t, c.HandedOver(t.Context(), s.ID, 1, []string{first.RID}))
	snap, d := reserve(t, c, s, attempt("ada")) // and in a later one
	equal(t, "third rid", d[0].Ticket.RID, first.RID)
	equal(t, "still in handoff", d[0].InHandOff, false)
	equal(t, "stock", snap.Stock, 2)
}

func TestReserve_LastUnitRaisesTheSoldOutFlagOnce(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 1)
	snap, d := reserve(t, c, s, attempt("ada"), attempt("bob"))
	equal(t, "bob", d[1].Code, sale.DecidedSoldOut)
	equal(t, "flag", snap.SoldOut, true)
	equal(t, "version", snap.Version, 2)
	snap, _ = reserve(t, c, s, attempt("eve"))
	equal(t, "version later", snap.Version, 2)
	equal(t, "stock", snap.Stock, 0)
}

func TestReserve_WinnerRepeatsAfterSoldOutIsReplay(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 1)
	a := attempt("ada")
	reserve(t, c, s, a)
	_, d := reserve(t, c, s, attempt("ada"))
	equal(t, "code", d[0].Code, sale.DecidedReplay)
	equal(t, "rid", d[0].Ticket.RID, a.RID)
}

func TestReserve_ALostTicketIsNobodyElsesFault(t *testing.T) {
	t.Parallel()
	c := connect(t)
	for name, instead := range map[string]string{
		"gone": "", "no JSON": "{", "a number": "1", "empty": "[]", "a rank in words": `["ada",1,"","one","queued","",1,1,0,0]`,
		"a slot in words": `["ada","one","",1,"queued","",1,1,0,0]`, "cut off": `["ada",1,"",1]`,
	} {
		s := newLoadedSale(t, c, 3, limit(2))
		a := sale.Attempt{RID: newRID(), UserID: "ada", Key: "k"}
		reserve(t, c, s, a)
		must(t, c.rdb.HSet(t.Context(), ticketsKey(s.ID, 1), newRID(), "[]").Err()) // the key itself is still there
		if instead == "" {
			must(t, c.rdb.HDel(t.Context(), ticketsKey(s.ID, 1), a.RID).Err())
		} else {
			must(t, c.rdb.HSet(t.Context(), ticketsKey(s.ID, 1), a.RID, instead).Err())
		}
		again := sale.Attempt{RID: newRID(), UserID: "ada", Key: "k"}
		snap, d := reserve(t, c, s, attempt("bob"), again, attempt("ada"), attempt("ada"))
		equal(t, name+": bob", d[0].Code, sale.DecidedAccepted)
		equal(t, name+": ada", d[1].Code, sale.DecidedLost)
		equal(t, name+": ada's second", d[2].Code, sale.DecidedAccepted)
		equal(t, name+": without a key", d[3].Ticket.RID, d[2].Ticket.RID)
		equal(t, name+": stock", snap.Stock, 0)
		if _, _, err := c.ReserveLate(t.Context(), s.ID, 1, again); err == nil {
			t.Errorf("%s: a late payment's lost ticket is a decision", name)
		}
	}
}

func TestReserve_WhatTheScriptDoesNotSayIsNoDecision(t *testing.T) {
	t.Parallel()
	one := []sale.Attempt{attempt("ada")}
	for name, tc := range map[string]struct {
		reply []any
		rank  int64
	}{
		"an acceptance without its ticket": {[]any{int64(sale.DecidedAccepted)}, 1},
		"a replay without its ticket":      {[]any{int64(sale.DecidedReplay)}, 1},
		"a code that is not known":         {[]any{int64(sale.DecidedNotAllowed) + 1}, 1},
		"no code":                          {[]any{int64(-2)}, 1},
		"slot 0":                           {[]any{int64(acceptedNow)}, 1},
		"a slot beyond the most":           {[]any{int64(acceptedNow + sale.MaxPerUserLimit + 1)}, 1},
		"more than were ever accepted":     {[]any{int64(acceptedNow + 1)}, 0},
		"two decisions":                    {[]any{int64(2), int64(2)}, 1},
	} {
		if d, err := readDecisions(tc.reply, one, sale.Snapshot{Rank: tc.rank}); err == nil {
			t.Errorf("%s: read as %+v", name, d)
		}
	}
	row := []any{int64(sale.DecidedSoldOut), "rid", int64(0), "ada", int64(1), "", int64(1), "queued", "", int64(1), int64(1), int64(0)}
	for name, reply := range map[string]any{"nothing": nil, "a refusal with a ticket": row} {
		d, err := readDecisions([]any{reply}, one, sale.Snapshot{Rank: 1})
		must(t, err)
		equal(t, name, d[0].Code, sale.DecidedLost)
	}
	d, err := readDecisions([]any{int64(acceptedNow + sale.MaxPerUserLimit)}, one, sale.Snapshot{Rank: 7})
	must(t, err)
	equal(t, "slot", d[0].Ticket.Slot, sale.MaxPerUserLimit)
	equal(t, "rank", d[0].Ticket.Rank, 7)
}

func TestReserve_SlotsAndKeys(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 10, limit(2))
	with := func(key string) sale.Attempt { return sale.Attempt{RID: newRID(), UserID: "ada", Key: key} }
	k1, k2 := with("k1"), with("k2")
	_, d := reserve(t, c, s, k1, with("k1"), k2, with("k3"), with(""))
	equal(t, "slot of k1", d[0].Ticket.Slot, 1)
	equal(t, "k1 again", d[1].Ticket.RID, k1.RID)
	equal(t, "slot of k2", d[2].Ticket.Slot, 2)
	equal(t, "unknown key, slots full", d[3].Code, sale.DecidedLimit)
	equal(t, "no key, slots full: the newest", d[4].Ticket.RID, k2.RID)
	equal(t, "no key, slots full", d[4].Code, sale.DecidedReplay)
}

func TestReserve_NoKeyIsOneKeyUntilItsTicketCloses(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 10, limit(3))
	first, second := attempt("ada"), attempt("ada")
	_, d := reserve(t, c, s, first, second)
	equal(t, "second keyless", d[1].Ticket.RID, first.RID)
	release(t, c, s, expired(first.RID))
	_, d = reserve(t, c, s, second)
	equal(t, "after release", d[0].Code, sale.DecidedAccepted)
	equal(t, "its rid", d[0].Ticket.RID, second.RID)
}

func TestReserve_KeyStaysBoundAfterRelease(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 10)
	a := sale.Attempt{RID: newRID(), UserID: "ada", Key: "k"}
	reserve(t, c, s, a)
	release(t, c, s, expired(a.RID))
	_, d := reserve(t, c, s, sale.Attempt{RID: newRID(), UserID: "ada", Key: "k"})
	equal(t, "code", d[0].Code, sale.DecidedReplay)
	equal(t, "status", d[0].Ticket.Status, sale.StatusExpired)
}

func TestReserve_RefusesAndWritesNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		total  int64
		change func(*sale.Sale)
		want   sale.DecisionCode
	}{
		{"before the window", 5, opensLater, sale.DecidedNotOpen},
		{"after the window", 5, alreadyClosed, sale.DecidedClosed},
		{"no stock at all", 0, func(*sale.Sale) {}, sale.DecidedSoldOut},
		{"not on the allow list", 5, withAllowList, sale.DecidedNotAllowed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := connect(t)
			s := newLoadedSale(t, c, tc.total, tc.change)
			before := keysOf(t, c, s.ID)
			snap, d := reserve(t, c, s, attempt("ada"))
			after := keysOf(t, c, s.ID)
			equal(t, "code", d[0].Code, tc.want)
			equal(t, "stock", snap.Stock, tc.total)
			equal(t, "keys of the sale", len(after), len(before))
		})
	}
}

func TestReserve_AllowListLetsItsUsersIn(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := openSale(5, withAllowList)
	loadEmpty(t, c, s, "ada", "bob")
	_, d := reserve(t, c, s, attempt("ada"), attempt("eve"))
	equal(t, "ada", d[0].Code, sale.DecidedAccepted)
	equal(t, "eve", d[1].Code, sale.DecidedNotAllowed)
}

func TestReserve_HostileUserIDsDoNotMix(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 10, limit(2))
	_, d := reserve(t, c, s, attempt("a"), attempt("a#1"), attempt(`a"]`), attempt("日本 {x}"), sale.Attempt{RID: newRID(), UserID: "a#1", Key: "1"})
	for i, want := range []int{1, 1, 1, 1, 2} {
		equal(t, "code", d[i].Code, sale.DecidedAccepted)
		equal(t, "slot", d[i].Ticket.Slot, want)
	}
	equal(t, "user", readTicket(t, c, s, d[2].Ticket.RID).UserID, `a"]`)
}

func TestReserveLate_NeitherWindowNorPauseMattersButStockAndLimitDo(t *testing.T) {
	t.Parallel()
	c := connect(t)
	for name, change := range map[string]func(*sale.Sale){"before opening": opensLater, "after closing": alreadyClosed} {
		s := newLoadedSale(t, c, 2, change)
		e := entry(s)
		e.Rev, e.Paused = 2, true
		_, _, err := c.Configure(t.Context(), e)
		must(t, err)
		late := func(user string) sale.Attempt {
			return sale.LateAttempt(sale.Order{Reservation: sale.Reservation{RID: newRID(), UserID: user}})
		}
		for _, want := range []struct {
			user string
			code sale.DecisionCode
		}{{"ada", sale.DecidedAccepted}, {"ada", sale.DecidedLimit}, {"bob", sale.DecidedAccepted}, {"cy", sale.DecidedSoldOut}} {
			a := late(want.user)
			for range 2 {
				_, d, err := c.ReserveLate(t.Context(), s.ID, 1, a)
				must(t, err)
				if d.Code != want.code || d.Code == sale.DecidedAccepted && (d.Ticket.RID != a.RID || !d.InHandOff) {
					t.Errorf("%s: late attempt of %s: %+v, want code %d", name, want.user, d, want.code)
				}
			}
		}
		if _, d := reserve(t, c, s, attempt("cy")); d[0].Code != sale.DecidedPaused {
			t.Errorf("%s: others are decided %d", name, d[0].Code)
		}
	}
}
