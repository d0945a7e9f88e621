package coupon

import (
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const hold = 15 * time.Minute

// owned is a coupon that is valid for ever, and returned on a full refund.
func owned(id string, change func(*Instance)) Instance {
	c := issuedOne(id, noon)
	c.StartsAt, c.EndsAt = time.Time{}, time.Time{}
	change(&c)
	return c
}

func asIs(*Instance) {}

func answers(t *testing.T, got, want Answer) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
}

func TestModel_LocksAllOrNone(t *testing.T) {
	t.Parallel()
	m := NewModel(noon, owned("a", asIs), owned("b", asIs))
	answers(t, m.Lock("o1", hold, "b"), Answer{})
	answers(t, m.Lock("o2", hold, "b", "a"), Answer{Refused: RefusedLocked, CouponID: "b"})
	answers(t, m.Lock("o2", hold, "a", "x"), Answer{Refused: RefusedUnknown, CouponID: "x"})
	if a, happened := m.Coupon("a"); a.State != StateIssued || happened != nil {
		t.Fatalf("%+v, %v", a, happened)
	}
	answers(t, m.Lock("o1", hold, "b"), Answer{})
	answers(t, m.Lock("o1", hold, "a"), Answer{Refused: RefusedOrderLocked})
	answers(t, m.Lock("o1", 2*hold, "b"), Answer{Refused: RefusedOrderLocked})
	m.Pass(hold)
	answers(t, m.Lock("o2", hold, "b", "a"), Answer{})
	answers(t, m.Redeem("o1"), Answer{Missing: []string{"b"}})
}

func TestModel_FirstResultsAreRepeated(t *testing.T) {
	t.Parallel()
	m := NewModel(noon, owned("a", asIs), owned("b", func(c *Instance) { c.ReturnOnFullRefund = false }))
	answers(t, m.Redeem("o1"), Answer{Refused: RefusedNoOrder})
	m.Lock("o1", hold, "a", "b")
	answers(t, m.Refund("o1"), Answer{Refused: RefusedNotRedeemed})
	for range 2 {
		answers(t, m.Redeem("o1"), Answer{Redeemed: []string{"a", "b"}})
		answers(t, m.Lock("o1", hold, "a", "b"), Answer{})
		answers(t, m.Lock("o1", hold, "a"), Answer{Refused: RefusedOrderLocked})
		answers(t, m.Release("o1"), Answer{Refused: RefusedOrderRedeemed})
	}
	for range 2 {
		answers(t, m.Refund("o1"), Answer{Returned: []string{"a"}})
		answers(t, m.Redeem("o1"), Answer{Redeemed: []string{"a", "b"}})
	}
	if a, _ := m.Coupon("a"); a.State != StateIssued || a.Cycle != 2 {
		t.Fatalf("%+v", a)
	}
	answers(t, m.Lock("o2", hold, "b"), Answer{Refused: RefusedRedeemed, CouponID: "b"})
}

func TestModel_ReleasedOrdersRedeemLateWhatIsFree(t *testing.T) {
	t.Parallel()
	m := NewModel(noon, owned("a", asIs), owned("b", asIs))
	m.Lock("o1", hold, "a", "b")
	for range 2 {
		answers(t, m.Release("o1"), Answer{Released: []string{"a", "b"}})
	}
	m.Lock("o2", hold, "b")
	answers(t, m.Redeem("o1"), Answer{Redeemed: []string{"a"}, Late: []string{"a"}, Missing: []string{"b"}})
	if a, happened := m.Coupon("a"); a.OrderID != "o1" || !slices.Contains(happened, Happened{EventLateRedeem, "o1", 1}) {
		t.Fatalf("%+v, %v", a, happened)
	}
}

func TestModel_RefusedOrdersLetGoOfWhatTheyHave(t *testing.T) {
	t.Parallel()
	m := NewModel(noon, owned("a", asIs), owned("b", func(c *Instance) { c.IfGone = GoneRefund }))
	m.Lock("o1", hold, "a", "b")
	m.Pass(hold)
	m.Lock("o2", hold, "b")
	for range 2 {
		answers(t, m.Redeem("o1"), Answer{Missing: []string{"b"}, Refund: true})
		answers(t, m.Release("o1"), Answer{Released: []string{"a", "b"}})
	}
	a, happened := m.Coupon("a")
	want := []Happened{{EventLock, "o1", 1}, {EventRelease, "o1", 1}}
	if a.State != StateIssued || !slices.Equal(happened, want) {
		t.Fatalf("%+v, %v, want %v", a, happened, want)
	}
}

func TestModel_JobsDoWhatIsDue(t *testing.T) {
	t.Parallel()
	m := NewModel(noon, owned("a", asIs), owned("b", func(c *Instance) { c.EndsAt = noon.Add(hold) }), owned("c", func(c *Instance) { c.EndsAt = noon.Add(1) }))
	m.Lock("o1", hold, "a", "b")
	m.Jobs()
	m.Pass(hold)
	m.Jobs()
	for id, want := range map[string][]Happened{
		"a": {{EventLock, "o1", 1}, {EventLapse, "o1", 1}},
		"b": {{EventLock, "o1", 1}, {EventLapse, "o1", 1}},
		"c": {{EventExpire, "", 1}},
	} {
		c, happened := m.Coupon(id)
		if !slices.Equal(happened, want) || (c.State == StateIssued) != (id == "a") {
			t.Errorf("%+v, %v, want %v", c, happened, want)
		}
	}
}

func TestModel_VoidCouponsAreMissing(t *testing.T) {
	t.Parallel()
	m := NewModel(noon, owned("a", func(c *Instance) { c.IfGone = GoneRefund }), owned("b", asIs))
	m.Lock("o1", hold, "a", "b")
	answers(t, m.Void("a"), Answer{Refused: RefusedLocked, CouponID: "a"})
	m.Release("o1")
	answers(t, m.Void("a"), Answer{})
	answers(t, m.Redeem("o1"), Answer{Missing: []string{"a"}, Refund: true})
	for range 2 {
		answers(t, m.Release("o1"), Answer{Released: []string{"a", "b"}})
	}
	if b, _ := m.Coupon("b"); b.State != StateIssued {
		t.Fatalf("%+v", b)
	}
	answers(t, m.Void("x"), Answer{Refused: RefusedUnknown, CouponID: "x"})
}

// Whatever orders do, each coupon has one owner, and what was answered as redeemed
// stays so.
func TestModel_NeverTwoOwners(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := NewModel(noon, owned("a", asIs), owned("b", func(c *Instance) { c.IfGone = GoneTopUp }),
			owned("c", func(c *Instance) { c.IfGone, c.EndsAt = GoneRefund, noon.Add(time.Hour) }))
		order, coupons := rapid.SampledFrom([]string{"o1", "o2", "o3", "o4"}), rapid.SampledFrom([]string{"a", "b", "c", "ab", "bc", "abc"})
		owners := map[string]string{} // coupon#cycle → order that was told it has redeemed it
		first := map[string]Answer{}
		rt.Repeat(map[string]func(*rapid.T){
			"lock": func(rt *rapid.T) {
				o, ids := order.Draw(rt, "order"), coupons.Draw(rt, "coupons")
				if _, decided := first[o]; m.Lock(o, hold, splitIDs(ids)...).Refused != "" || decided {
					return
				}
				for _, id := range splitIDs(ids) {
					if c, _ := m.Coupon(id); c.OrderID != o || c.State != StateLocked {
						rt.Fatalf("locked by %s: %+v", o, c)
					}
				}
			},
			"redeem": func(rt *rapid.T) {
				o := order.Draw(rt, "order")
				got := m.Redeem(o)
				if got.Refused != "" {
					return
				}
				if before, repeated := first[o]; repeated {
					if !reflect.DeepEqual(before, got) {
						rt.Fatalf("%s: %+v, before %+v", o, got, before)
					}
					return
				}
				first[o] = got
				for _, id := range got.Redeemed {
					c, _ := m.Coupon(id)
					key := id + "#" + strconv.FormatInt(c.Cycle, 10)
					if owners[key] != "" || c.OrderID != o || c.State != StateRedeemed {
						rt.Fatalf("%s of %s and of %q: %+v", key, o, owners[key], c)
					}
					owners[key] = o
				}
			},
			"release": func(rt *rapid.T) { m.Release(order.Draw(rt, "order")) },
			"refund":  func(rt *rapid.T) { m.Refund(order.Draw(rt, "order")) },
			"pass":    func(rt *rapid.T) { m.Pass(time.Duration(rapid.IntRange(1, 20).Draw(rt, "minutes")) * time.Minute) },
			"jobs":    func(*rapid.T) { m.Jobs() },
		})
	})
}

func splitIDs(ids string) []string {
	list := make([]string, 0, len(ids))
	for _, r := range ids {
		list = append(list, string(r))
	}
	return list
}
