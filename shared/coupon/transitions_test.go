package coupon

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type transition = func(Instance) (Instance, []Happened, Refusal)

// transitions of order o1 at noon, in the order of the columns of the table below.
var transitions = []struct {
	name string
	do   transition
}{
	{"lock", func(c Instance) (Instance, []Happened, Refusal) { return c.Lock("o1", noon.Add(time.Minute), noon) }},
	{"redeem", func(c Instance) (Instance, []Happened, Refusal) { return c.Redeem("o1", noon) }},
	{"release", func(c Instance) (Instance, []Happened, Refusal) { return c.Release("o1", noon) }},
	{"lapse", func(c Instance) (Instance, []Happened, Refusal) { return c.Lapse(noon) }},
	{"expire", func(c Instance) (Instance, []Happened, Refusal) { return c.Expire(noon) }},
	{"void", func(c Instance) (Instance, []Happened, Refusal) { return c.Void(noon) }},
	{"return", func(c Instance) (Instance, []Happened, Refusal) { return c.Return("o1", noon) }},
}

// issuedOne is a coupon as it is claimed.
func issuedOne(id string, at time.Time) Instance {
	return Instance{ID: id, TemplateID: "t1", UserID: "u1", Slot: 1, Snapshot: Snapshot{Kind: KindAmount, Value: 1, Terms: validTerms()},
		State: StateIssued, Cycle: 1, IssuedAt: at, ChangedAt: at}
}

func claimed(change func(*Instance)) Instance {
	c := issuedOne("c1", noon.Add(-time.Hour))
	c.StartsAt, c.EndsAt, c.Cycle = noon, noon.Add(1), 3
	change(&c)
	return c
}

func inState(s State, orderID string, until time.Time) func(*Instance) {
	return func(c *Instance) { c.State, c.OrderID, c.LockedUntil = s, orderID, until }
}

// ended is a coupon whose time is over at noon.
func ended(change func(*Instance)) func(*Instance) {
	return func(c *Instance) { change(c); c.StartsAt, c.EndsAt = noon.Add(-1), noon }
}

// The cells say the state after, the order that has it, the cycle, and the events; or
// why not.
func TestTransitions_OfEveryState(t *testing.T) {
	t.Parallel()
	const (
		locks     = "locked o1 3: lock o1 3"
		takesOver = "locked o1 3: lapse o2 3, lock o1 3"
		late      = "redeemed o1 3: late_redeem o1 3"
		redeems   = "redeemed o1 3: redeem o1 3"
	)
	holds, passed := noon.Add(1), noon
	issued := inState(StateIssued, "", time.Time{})
	for name, row := range map[string]struct {
		change func(*Instance)
		want   []string
	}{
		"issued":           {issued, []string{locks, late, "-not_held", "-not_due", "-not_due", "void 3: void 3", "-not_held"}},
		"not started":      {func(c *Instance) { c.StartsAt = noon.Add(1) }, []string{"-not_started", late, "-not_held", "-not_due", "-not_due", "void 3: void 3", "-not_held"}},
		"ended":            {ended(issued), []string{"-expired", late, "-not_held", "-not_due", "expired 3: expire 3", "void 3: void 3", "-not_held"}},
		"locked":           {inState(StateLocked, "o1", holds), []string{"-done", redeems, "issued 3: release o1 3", "-not_due", "-not_due", "-locked", "-not_held"}},
		"locked, ended":    {ended(inState(StateLocked, "o1", holds)), []string{"-done", redeems, "expired 3: release o1 3", "-not_due", "-not_due", "-locked", "-not_held"}},
		"lapsed":           {inState(StateLocked, "o1", passed), []string{"locked o1 3: lapse o1 3, lock o1 3", redeems, "issued 3: release o1 3", "issued 3: lapse o1 3", "-not_due", "-locked", "-not_held"}},
		"lapsed, ended":    {ended(inState(StateLocked, "o1", passed)), []string{"-expired", redeems, "expired 3: release o1 3", "expired 3: lapse o1 3", "-not_due", "-locked", "-not_held"}},
		"another's":        {inState(StateLocked, "o2", holds), []string{"-locked", "-locked", "-not_held", "-not_due", "-not_due", "-locked", "-not_held"}},
		"another's lapsed": {inState(StateLocked, "o2", passed), []string{takesOver, "redeemed o1 3: lapse o2 3, late_redeem o1 3", "-not_held", "issued 3: lapse o2 3", "-not_due", "-locked", "-not_held"}},
		"another's lapsed and ended": {ended(inState(StateLocked, "o2", passed)),
			[]string{"-expired", "redeemed o1 3: lapse o2 3, late_redeem o1 3", "-not_held", "expired 3: lapse o2 3", "-not_due", "-locked", "-not_held"}},
		"redeemed":        {inState(StateRedeemed, "o1", time.Time{}), []string{"-done", "-done", "-redeemed", "-not_due", "-not_due", "-redeemed", "issued 4: return o1 4"}},
		"redeemed, ended": {ended(inState(StateRedeemed, "o1", time.Time{})), []string{"-done", "-done", "-redeemed", "-not_due", "-not_due", "-redeemed", "expired 4: return o1 4"}},
		"redeemed for good": {func(c *Instance) { c.State, c.OrderID, c.ReturnOnFullRefund = StateRedeemed, "o1", false },
			[]string{"-done", "-done", "-redeemed", "-not_due", "-not_due", "-redeemed", "-kept"}},
		"redeemed by another": {inState(StateRedeemed, "o2", time.Time{}), []string{"-redeemed", "-redeemed", "-not_held", "-not_due", "-not_due", "-redeemed", "-not_held"}},
		"expired":             {ended(inState(StateExpired, "", time.Time{})), []string{"-expired", late, "-not_held", "-not_due", "-not_due", "-expired", "-not_held"}},
		"void":                {inState(StateVoid, "", time.Time{}), []string{"-void", "-void", "-not_held", "-not_due", "-not_due", "-void", "-not_held"}},
	} {
		for i, transition := range transitions {
			t.Run(name+"/"+transition.name, func(t *testing.T) {
				t.Parallel()
				before := claimed(row.change)
				after, happened, refused := transition.do(before)
				if got := describe(after, happened, refused); got != row.want[i] {
					t.Errorf("%s, want %s", got, row.want[i])
				}
				if err := wellFormed(before, after, happened, refused); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func describe(c Instance, happened []Happened, refused Refusal) string {
	if refused != "" {
		return "-" + string(refused)
	}
	var events []string
	for _, h := range happened {
		events = append(events, words(string(h.Event), h.OrderID, h.Cycle))
	}
	return words(string(c.State), c.OrderID, c.Cycle) + ": " + strings.Join(events, ", ")
}

func words(what, orderID string, cycle int64) string {
	if orderID == "" {
		return fmt.Sprintf("%s %d", what, cycle)
	}
	return fmt.Sprintf("%s %s %d", what, orderID, cycle)
}

// wellFormed holds of every transition: a refused one changes nothing, another one
// changes no more than it says, and what is left is an instance that the tables take.
func wellFormed(before, after Instance, happened []Happened, refused Refusal) error {
	if refused != "" {
		if !reflect.DeepEqual(before, after) || happened != nil {
			return fmt.Errorf("refused, and it is %+v with %v", after, happened)
		}
		return nil
	}
	same := after
	same.State, same.Cycle, same.OrderID, same.LockedUntil, same.ChangedAt = before.State, before.Cycle, before.OrderID, before.LockedUntil, before.ChangedAt
	switch owned := after.State == StateLocked || after.State == StateRedeemed; {
	case !reflect.DeepEqual(same, before):
		return fmt.Errorf("it changed what is fixed: %+v, was %+v", after, before)
	case owned != (after.OrderID != ""), (after.State == StateLocked) != !after.LockedUntil.IsZero():
		return fmt.Errorf("state %s with order %q until %v", after.State, after.OrderID, after.LockedUntil)
	case after.ChangedAt.Before(before.ChangedAt):
		return fmt.Errorf("changed at %v, before at %v", after.ChangedAt, before.ChangedAt)
	case len(happened) == 0 || len(happened) > 2:
		return fmt.Errorf("happened: %v", happened)
	}
	last, grows := happened[len(happened)-1], int64(0)
	if last.Event == EventReturn {
		grows = 1
	}
	if after.Cycle != before.Cycle+grows || last.Cycle != after.Cycle {
		return fmt.Errorf("cycle %d after %d by %v", after.Cycle, before.Cycle, last)
	}
	return nil
}

func TestLock_LastsUntilItsDeadline(t *testing.T) {
	t.Parallel()
	c, _, refused := claimed(func(*Instance) {}).Lock("o1", noon.Add(time.Minute), noon)
	if refused != "" || !c.LockedUntil.Equal(noon.Add(time.Minute)) || !c.ChangedAt.Equal(noon) {
		t.Fatalf("%+v, %s", c, refused)
	}
	if !c.LockHolds(noon.Add(time.Minute-1)) || c.LockHolds(noon.Add(time.Minute)) {
		t.Fatal("a lock holds before its deadline and not at it")
	}
}

// A coupon's life: whatever orders ask for, and however time passes.
func TestTransitions_KeepACouponsRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		now := noon
		c := issuedOne("c1", now)
		c.ReturnOnFullRefund = rapid.Bool().Draw(rt, "returns")
		var had, redeemed = map[string]bool{}, map[int64]bool{}
		step := func(do transition) {
			after, happened, refused := do(c)
			if err := wellFormed(c, after, happened, refused); err != nil {
				rt.Fatal(err)
			}
			for _, h := range happened {
				checkHappened(rt, c, after, h, now, had, redeemed)
			}
			c = after
		}
		order := rapid.SampledFrom([]string{"o1", "o2", "o3"})
		rt.Repeat(map[string]func(*rapid.T){
			"pass": func(rt *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(rt, "minutes")) * time.Minute)
			},
			"lock": func(rt *rapid.T) {
				o := order.Draw(rt, "order")
				step(func(c Instance) (Instance, []Happened, Refusal) { return c.Lock(o, now.Add(15*time.Minute), now) })
			},
			"redeem": func(rt *rapid.T) {
				if o := order.Draw(rt, "order"); had[o] { // no other order asks
					step(func(c Instance) (Instance, []Happened, Refusal) { return c.Redeem(o, now) })
				}
			},
			"release": func(rt *rapid.T) {
				o := order.Draw(rt, "order")
				step(func(c Instance) (Instance, []Happened, Refusal) { return c.Release(o, now) })
			},
			"return": func(rt *rapid.T) {
				o := order.Draw(rt, "order")
				step(func(c Instance) (Instance, []Happened, Refusal) { return c.Return(o, now) })
			},
			"jobs": func(*rapid.T) {
				step(func(c Instance) (Instance, []Happened, Refusal) { return c.Lapse(now) })
				step(func(c Instance) (Instance, []Happened, Refusal) { return c.Expire(now) })
			},
			"void": func(rt *rapid.T) {
				if rapid.IntRange(0, 9).Draw(rt, "dice") == 0 {
					step(func(c Instance) (Instance, []Happened, Refusal) { return c.Void(now) })
				}
			},
		})
	})
}

// checkHappened holds one event against what the order had, and notes what it has now.
func checkHappened(rt *rapid.T, before, after Instance, h Happened, now time.Time, had map[string]bool, redeemed map[int64]bool) {
	switch h.Event {
	case EventLock:
		if before.LockHolds(now) || before.Ended(now) || !before.Started(now) {
			rt.Fatalf("locked by %s at %v: %+v", h.OrderID, now, before)
		}
		had[h.OrderID] = true
	case EventRedeem, EventLateRedeem:
		if !had[h.OrderID] || redeemed[h.Cycle] || before.LockHolds(now) && before.OrderID != h.OrderID {
			rt.Fatalf("redeemed by %s at %v: %+v", h.OrderID, now, before)
		}
		redeemed[h.Cycle] = true
	case EventReturn:
		if before.OrderID != h.OrderID || !redeemed[before.Cycle] || !before.ReturnOnFullRefund {
			rt.Fatalf("returned by %s: %+v", h.OrderID, before)
		}
	case EventRelease, EventLapse:
		if before.OrderID != h.OrderID || h.Event == EventLapse && before.LockHolds(now) {
			rt.Fatalf("%s of %s at %v: %+v", h.Event, h.OrderID, now, before)
		}
	case EventExpire, EventVoid:
		if before.State != StateIssued {
			rt.Fatalf("%s of %+v", h.Event, before)
		}
	}
	if after.State == StateIssued && before.State != StateIssued && after.Ended(now) {
		rt.Fatalf("issued after its time: %+v", after)
	}
}
