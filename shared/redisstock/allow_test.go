package redisstock

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"sluice/shared/sale"
)

// listed is a loaded sale whose first allow list has ada on it.
func listed(t *testing.T, c *Client) (sale.Sale, sale.Entry) {
	t.Helper()
	s := openSale(5)
	e := entry(s)
	e.Eligibility.HasAllowList, e.AllowRev = true, 1
	must(t, c.Fence(t.Context(), s.ID, 1, "token"))
	must(t, c.LoadAllow(t.Context(), s.ID, 1, "token", []string{"ada"}))
	must(t, c.Flip(t.Context(), "token", Live{Entry: e, Total: 5, Stock: 5}))
	return s, e
}

func staged(t *testing.T, c *Client, e sale.Entry, users ...string) bool {
	t.Helper()
	ok, err := c.StageAllow(t.Context(), e, users)
	must(t, err)
	return ok
}

func configure(t *testing.T, c *Client, e sale.Entry) sale.Configured {
	t.Helper()
	_, configured, err := c.Configure(t.Context(), e)
	must(t, err)
	return configured
}

func swap(t *testing.T, c *Client, e sale.Entry, users int64) (sale.Snapshot, sale.Configured) {
	t.Helper()
	snap, configured, err := c.SwapAllow(t.Context(), e, users)
	must(t, err)
	return snap, configured
}

// allows says whether an attempt of the user is let in by the list.
func allows(t *testing.T, c *Client, s sale.Sale, user string) bool {
	t.Helper()
	_, d := reserve(t, c, s, attempt(user))
	return d[0].Code != sale.DecidedNotAllowed
}

func TestSwapAllow_TheOldListRulesUntilTheWholeNewOneIsThere(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s, e := listed(t, c)
	e.Rev, e.AllowRev, e.Weight = 2, 2, 7
	e.ClosesAt = s.ClosesAt.Add(time.Hour).Truncate(time.Millisecond)
	if got := configure(t, c, e); !got.Changed || !got.Unlisted {
		t.Errorf("the window comes at once, the list is still to come: %+v", got)
	}
	if !staged(t, c, e) || !staged(t, c, e, "bob") {
		t.Error("not staged")
	}
	snap, got := swap(t, c, e, 2)
	if got.Changed || !got.Unlisted {
		t.Errorf("a part of the list: %+v", got)
	}
	if !snap.ClosesAt.Equal(e.ClosesAt) || !allows(t, c, s, "ada") || allows(t, c, s, "bob") {
		t.Error("the old list does not rule")
	}
	staged(t, c, e, "cy", "bob") // a page that another one repeats
	before := snap.Version
	snap, got = swap(t, c, e, 2)
	if !got.Changed || got.Unlisted || snap.Version <= before {
		t.Errorf("the whole list: %+v, version %d after %d", got, snap.Version, before)
	}
	if allows(t, c, s, "dee") || !allows(t, c, s, "bob") || !allows(t, c, s, "cy") {
		t.Error("the new list does not rule")
	}
	if got := configure(t, c, e); got.Changed || got.Unlisted {
		t.Errorf("again: %+v", got)
	}
	_, d := reserve(t, c, s, attempt("ada"))
	equal(t, "who bought before and is not on it has the ticket", d[0].Code, sale.DecidedReplay)
}

func TestStageAllow_ALaterListWins(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s, e := listed(t, c)
	second, third := e, e
	second.Rev, second.AllowRev, third.Rev, third.AllowRev = 2, 2, 3, 3
	staged(t, c, second, "bob")
	if !staged(t, c, third, "cy") || staged(t, c, second, "dee") {
		t.Error("an older list is made beside a later one")
	}
	if _, got := swap(t, c, second, 1); !got.Unlisted || !allows(t, c, s, "ada") || allows(t, c, s, "bob") {
		t.Error("an older list was swapped in")
	}
	swap(t, c, third, 1)
	if !allows(t, c, s, "cy") || allows(t, c, s, "bob") || staged(t, c, second, "bob") {
		t.Error("the later list does not rule")
	}
	if got := configure(t, c, second); got.Unlisted {
		t.Error("an older list is asked for")
	}
}

// Two processes bring one list: what the later one has made by then is not left behind.
func TestSwapAllow_LeavesNothingOfAListThatWasMadeTwice(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s, e := listed(t, c)
	e.Rev, e.AllowRev = 2, 2
	staged(t, c, e, "bob", "cy")
	swap(t, c, e, 2)
	staged(t, c, e, "cy")
	if _, got := swap(t, c, e, 2); got.Changed || got.Unlisted {
		t.Errorf("again: %+v", got)
	}
	left, err := c.rdb.Exists(t.Context(), keys(s.ID, 1)[10]).Result()
	must(t, err)
	equal(t, "lists beside the one in force", left, 0)
	if !allows(t, c, s, "bob") || allows(t, c, s, "ada") {
		t.Error("the list does not rule")
	}
}

func TestConfigure_TheListIsTakenAwayAndComesBack(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s, e := listed(t, c)
	e.Rev, e.AllowRev, e.Eligibility.HasAllowList = 2, 2, false
	if got := configure(t, c, e); !got.Changed || got.Unlisted || !allows(t, c, s, "bob") {
		t.Errorf("without a list: %+v", got)
	}
	e.Rev, e.AllowRev, e.Eligibility.HasAllowList = 3, 3, true
	if got := configure(t, c, e); !got.Unlisted || !allows(t, c, s, "cy") {
		t.Errorf("until the list is there everybody may buy: %+v", got)
	}
	staged(t, c, e, "dee")
	swap(t, c, e, 1)
	if allows(t, c, s, "eve") || !allows(t, c, s, "dee") {
		t.Error("the list does not rule")
	}
}

func TestConfigure_AsksForAListThatRedisHasLost(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s, e := listed(t, c)
	must(t, c.rdb.Del(t.Context(), keys(s.ID, 1)[8]).Err())
	if got := configure(t, c, e); !got.Unlisted || allows(t, c, s, "ada") {
		t.Errorf("without its list: %+v", got)
	}
	if users, _, err := c.AllowList(t.Context(), s.ID, 1); err != nil || users != nil {
		t.Errorf("it has %v, %v", users, err)
	}
	staged(t, c, e, "ada", "bob")
	swap(t, c, e, 2)
	must(t, c.rdb.SRem(t.Context(), keys(s.ID, 1)[8], "bob").Err())
	if got := configure(t, c, e); !got.Unlisted {
		t.Errorf("without a user of its list: %+v", got)
	}
}

// A Redis that an older program loaded has no number and no size of its list.
func TestConfigure_AListOfBeforeNumbersIsWhole(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s, e := listed(t, c)
	must(t, c.rdb.HDel(t.Context(), keys(s.ID, 1)[7], "allow_rev", "allow_size").Err())
	e.AllowRev = 0
	if got := configure(t, c, e); got.Unlisted {
		t.Errorf("asked for again: %+v", got)
	}
	if users, rev, err := c.AllowList(t.Context(), s.ID, 1); err != nil || rev != 0 || !slices.Equal(users, []string{"ada"}) {
		t.Errorf("%v, %d, %v", users, rev, err)
	}
	e.Rev, e.AllowRev = 2, 7
	if got := configure(t, c, e); !got.Unlisted {
		t.Errorf("a later list is not asked for: %+v", got)
	}
}

func TestAllowList_ReadsAllOfIt(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s, e := listed(t, c)
	e.Rev, e.AllowRev = 2, 2
	users := make([]string, 5000)
	for i := range users {
		users[i] = "user-" + strconv.Itoa(i)
	}
	staged(t, c, e, users...)
	swap(t, c, e, 5000)
	got, rev, err := c.AllowList(t.Context(), s.ID, 1)
	must(t, err)
	slices.Sort(got)
	slices.Sort(users)
	if rev != 2 || !slices.Equal(got, users) {
		t.Errorf("%d users of list %d", len(got), rev)
	}
	if users, rev, err := c.AllowList(t.Context(), s.ID, 9); err != nil || users != nil || rev != 0 {
		t.Errorf("of an epoch that is not there: %v, %d, %v", users, rev, err)
	}
}

func TestStageAllow_OfASaleThatIsNotLive(t *testing.T) {
	t.Parallel()
	c := connect(t)
	_, e := listed(t, c)
	e.Epoch = 2
	if _, err := c.StageAllow(t.Context(), e, []string{"bob"}); !errors.Is(err, sale.ErrStale) {
		t.Error(err)
	}
	if _, _, err := c.SwapAllow(t.Context(), e, 1); !errors.Is(err, sale.ErrStale) {
		t.Error(err)
	}
}

func TestRelease_TheSlotIsAsTheReleaseSays(t *testing.T) {
	t.Parallel()
	c := connect(t)
	for _, rebuy := range []bool{true, false} {
		s := newLoadedSale(t, c, 5, func(s *sale.Sale) { s.RebuyAfterRelease = rebuy })
		opens, stays := attempt("ada"), attempt("bob")
		reserve(t, c, s, opens, stays)
		first, second := expired(opens.RID), expired(stays.RID)
		first.Slot, second.Slot = sale.SlotOpens, sale.SlotStays
		release(t, c, s, first, second)
		buyers, err := c.Buyers(t.Context(), s.ID, 1)
		must(t, err)
		if !slices.Equal(buyers, []string{"bob#1"}) {
			t.Errorf("rebuy %v: slots %v are taken", rebuy, buyers)
		}
	}
}
