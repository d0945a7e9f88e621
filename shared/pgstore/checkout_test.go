package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/pricing"
	"sluice/shared/sale"
)

func TestLock_TakesAllCouponsOrNone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	mine, other := give(t, s, "ann", tenOff("a")), give(t, s, "ann", tenOff("b"))
	theirs := give(t, s, "ben", tenOff("b"))
	first := orderOf("ann", "o-1")

	_, err := s.LockCoupons(t.Context(), lockOf(first, mine, theirs))
	wantWhy(t, err, theirs, checkout.WhyUnknown)
	_, err = s.LockCoupons(t.Context(), lockOf(first, mine, "no-uuid"))
	wantWhy(t, err, "no-uuid", checkout.WhyUnknown)
	wantCoupon(t, s, mine, coupon.StateIssued, "")
	if _, err := s.RedeemCoupons(t.Context(), first); !errors.Is(err, checkout.ErrNoOrder) {
		t.Errorf("redeem of an order that was refused its lock: %v", err)
	}

	lock(t, s, lockOf(first, other, mine))
	wantCoupon(t, s, mine, coupon.StateLocked, "o-1", "lock o-1")
	wantCoupon(t, s, other, coupon.StateLocked, "o-1", "lock o-1")
	third := give(t, s, "ann", tenOff("c"))
	_, err = s.LockCoupons(t.Context(), lockOf(orderOf("ann", "o-2"), third, other))
	wantWhy(t, err, other, checkout.WhyLocked)
	wantCoupon(t, s, third, coupon.StateIssued, "")
}

func TestLock_SameBodyIsAnsweredTheSameForAsLongAsItHolds(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	mine, other := give(t, s, "ann", tenOff("a")), give(t, s, "ann", tenOff("b"))
	l := lockOf(orderOf("ann", "o-1"), mine, other)
	first := asJSON(t, lock(t, s, l))

	again := lockOf(l.Order, other, mine)
	slices.Reverse(again.Cart.Lines)
	if got := asJSON(t, lock(t, s, again)); got != first {
		t.Errorf("again %s\nfirst %s", got, first)
	}
	otherwise := lockOf(l.Order, mine)
	if _, err := s.LockCoupons(t.Context(), otherwise); !errors.Is(err, checkout.ErrOrderLocked) {
		t.Errorf("another body: %v", err)
	}
	redeem(t, s, l.Order)
	if got := asJSON(t, lock(t, s, again)); got != first {
		t.Errorf("after redeem %s\nfirst %s", got, first)
	}
	if _, err := s.LockCoupons(t.Context(), otherwise); !errors.Is(err, checkout.ErrOrderLocked) {
		t.Errorf("another body after redeem: %v", err)
	}
}

func TestLock_OfAnOrderWhoseLockIsGoneMayAskForAnything(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *Store, checkout.Order){
		"released": func(t *testing.T, s *Store, o checkout.Order) { release(t, s, o) },
		"lapsed": func(t *testing.T, s *Store, o checkout.Order) {
			passDeadline(t, s, o.UserID)
			if n, err := s.LapseLocks(t.Context(), 10); n != 2 || err != nil {
				t.Errorf("%d lapsed, error %v", n, err)
			}
		},
		"overdue": func(t *testing.T, s *Store, o checkout.Order) { passDeadline(t, s, o.UserID) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			one, two, three := give(t, s, "ann", tenOff("a")), give(t, s, "ann", tenOff("b")), give(t, s, "ann", tenOff("c"))
			o := orderOf("ann", "o-1")
			lock(t, s, lockOf(o, one, two))
			end(t, s, o)
			lock(t, s, lockOf(o, two, three))
			if _, err := s.LapseLocks(t.Context(), 10); err != nil {
				t.Error(err)
			}
			if c := instance(t, s, one); c.State != coupon.StateIssued {
				t.Errorf("the coupon that is not asked for any more is %s", c.State)
			}
			for _, id := range []string{two, three} {
				if c := instance(t, s, id); c.State != coupon.StateLocked || c.OrderID != "o-1" {
					t.Errorf("coupon is %s of %q", c.State, c.OrderID)
				}
			}
			redeemed := redeem(t, s, o)
			if len(redeemed.Redeemed) != 2 || redeemed.Redeemed[0].Late || redeemed.Redeemed[1].Late {
				t.Errorf("redeemed = %+v", redeemed)
			}
		})
	}
}

func TestLock_TakesOverAnotherOrdersLockOnceItsDeadlineHasPassed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id := give(t, s, "ann", tenOff("a"))
	lock(t, s, lockOf(orderOf("ann", "o-1"), id))
	_, err := s.LockCoupons(t.Context(), lockOf(orderOf("ann", "o-2"), id))
	wantWhy(t, err, id, checkout.WhyLocked)
	passDeadline(t, s, "ann")
	l := lockOf(orderOf("ann", "o-2"), id)
	if locked := lock(t, s, l); !slices.Equal(locked.Moved, checkout.Moved{coupon.EventLapse, coupon.EventLock}) {
		t.Errorf("moved %v", locked.Moved)
	}
	if again := lock(t, s, l); !again.Repeated || len(again.Moved) != 0 {
		t.Errorf("again moved %v", again.Moved)
	}
	wantCoupon(t, s, id, coupon.StateLocked, "o-2", "lock o-1", "lapse o-1", "lock o-2")
}

func TestLock_RefusesWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ended, void, unstarted := give(t, s, "ann", tenOff("a")), give(t, s, "ann", tenOff("a")), tenOff("b")
	endValidity(t, s, ended)
	if _, err := s.VoidCoupon(t.Context(), ada, void); err != nil {
		t.Fatal(err)
	}
	unstarted.StartsAt = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	later := give(t, s, "ann", unstarted)
	o := orderOf("ann", "o-1")

	_, err := s.LockCoupons(t.Context(), lockOf(o, ended))
	wantWhy(t, err, ended, checkout.WhyExpired)
	if n, err := s.ExpireCoupons(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d expired, error %v", n, err)
	}
	_, err = s.LockCoupons(t.Context(), lockOf(o, ended))
	wantWhy(t, err, ended, checkout.WhyExpired)
	_, err = s.LockCoupons(t.Context(), lockOf(o, void))
	wantWhy(t, err, void, checkout.WhyVoid)
	_, err = s.LockCoupons(t.Context(), lockOf(o, later))
	var rejected *checkout.NotApplicableError
	if !errors.As(err, &rejected) || len(rejected.Rejected) != 1 || rejected.Rejected[0].ID != later {
		t.Errorf("one that has not started: %v", err)
	}
	used := give(t, s, "ann", tenOff("a"))
	lock(t, s, lockOf(o, used))
	redeem(t, s, o)
	_, err = s.LockCoupons(t.Context(), lockOf(orderOf("ann", "o-2"), used))
	wantWhy(t, err, used, checkout.WhyRedeemed)
	wantCoupon(t, s, ended, coupon.StateExpired, "", "expire")
	wantCoupon(t, s, void, coupon.StateVoid, "", "void")
}

// TestLock_IsOfNoMoreSharesThanRedeemCanWrite: as many as there may be are locked,
// redeemed and refunded; of a line more nothing is written.
func TestLock_IsOfNoMoreSharesThanRedeemCanWrite(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	terms := tenOff("a")
	terms.Kind, terms.Value, terms.Bearers = coupon.KindPercent, 50, nil
	for i := range coupon.MaxBearers {
		terms.Bearers = append(terms.Bearers, coupon.Bearer{Party: fmt.Sprint("p-", i), BPS: coupon.FullBPS / coupon.MaxBearers})
	}
	id, o := give(t, s, "ann", terms), orderOf("ann", "o-1")
	l, all := lockOf(o, id), checkout.Refund{Order: o, RefundID: "r-1", Shipping: true}
	l.Cart.Lines = nil
	for i := range pricing.MaxShares/coupon.MaxBearers + 1 {
		l.Cart.Lines = append(l.Cart.Lines, pricing.Line{ID: fmt.Sprint(i), Quantity: 1, UnitPriceMinor: 1_000})
	}
	_, err := s.LockCoupons(t.Context(), l)
	var invalid *pricing.InvalidError
	if !errors.As(err, &invalid) || invalid.Field != "lines" {
		t.Errorf("a line too many: %v", err)
	}
	wantCoupon(t, s, id, coupon.StateIssued, "")
	if _, err := s.RedeemCoupons(t.Context(), o); !errors.Is(err, checkout.ErrNoOrder) {
		t.Errorf("redeem of an order that was refused its lock: %v", err)
	}

	l.Cart.Lines = l.Cart.Lines[1:]
	for _, line := range l.Cart.Lines {
		all.Lines = append(all.Lines, checkout.RefundLine{ID: line.ID, Quantity: 1})
	}
	lock(t, s, l)
	redeem(t, s, o)
	wantLedgerRows(t, s, o, pricing.MaxShares)
	if back := refund(t, s, all); !back.Full {
		t.Errorf("not all is refunded: %d", back.AmountMinor)
	}
	wantEvenLedger(t, s, o)
}

func TestCheckout_MerchantsSeeTheirOwnOrdersAndThoseOfBuyers(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	one, two := give(t, s, "ann", tenOff("a")), give(t, s, "ann", tenOff("b"))
	shops := checkout.Order{UserID: "ann", OrderID: "o-1", Merchant: "shop"}
	rivals := checkout.Order{UserID: "ann", OrderID: "o-1", Merchant: "rival"}
	lock(t, s, lockOf(shops, one))
	if _, err := s.LockCoupons(t.Context(), lockOf(rivals, one)); !errors.Is(err, checkout.ErrOrderLocked) {
		t.Errorf("another merchant's lock: %v", err)
	}
	if _, err := s.ReleaseCoupons(t.Context(), rivals); !errors.Is(err, checkout.ErrNoOrder) {
		t.Errorf("another merchant's release: %v", err)
	}
	if _, err := s.RedeemCoupons(t.Context(), rivals); !errors.Is(err, checkout.ErrNoOrder) {
		t.Errorf("another merchant's redeem: %v", err)
	}
	buyers := orderOf("ann", "o-1") // what a shop has locked is not the buyer's to take back
	if _, err := s.LockCoupons(t.Context(), lockOf(buyers, one)); !errors.Is(err, checkout.ErrOrderLocked) {
		t.Errorf("the buyer's lock: %v", err)
	}
	if _, err := s.ReleaseCoupons(t.Context(), buyers); !errors.Is(err, checkout.ErrNoOrder) {
		t.Errorf("the buyer's release: %v", err)
	}
	release(t, s, shops)
	if _, err := s.LockCoupons(t.Context(), lockOf(rivals, one)); !errors.Is(err, checkout.ErrOrderLocked) {
		t.Errorf("another merchant's lock of a released order: %v", err)
	}
	lock(t, s, lockOf(orderOf("ann", "o-2"), two))
	rivals.OrderID = "o-2"
	redeem(t, s, rivals) // the buyer's order, at whichever merchant
	back := checkout.Refund{Order: orderOf("ann", "o-2"), RefundID: "r-1", Lines: []checkout.RefundLine{{ID: "1", Quantity: 1}}}
	if _, err := s.RefundCoupons(t.Context(), back); !errors.Is(err, checkout.ErrNoOrder) {
		t.Errorf("the buyer's refund of what a shop has redeemed: %v", err)
	}
	if _, err := s.RedeemCoupons(t.Context(), orderOf("ben", "o-2")); !errors.Is(err, checkout.ErrNoOrder) {
		t.Errorf("another buyer's redeem: %v", err)
	}
}

func TestRedeem_AsksNeitherForDeadlineNorValidity(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	o := orderOf("ann", "o-1")
	one, two, three := give(t, s, "ann", tenOff("a")), give(t, s, "ann", tenOff("b")), give(t, s, "ann", tenOff("c"))
	lock(t, s, lockOf(o, one, two, three))
	exec(t, s, `UPDATE coupons SET locked_until = now() - interval '2 seconds' WHERE id = $1::text::uuid`, one)
	if n, err := s.LapseLocks(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d lapsed, error %v", n, err)
	}
	endValidity(t, s, one)
	endValidity(t, s, two)
	if n, err := s.ExpireCoupons(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d expired, error %v", n, err)
	}
	passDeadline(t, s, "ann")

	got := redeem(t, s, o)
	if got.Result != checkout.ResultRedeemed || len(got.Missing) != 0 || len(got.Redeemed) != 3 {
		t.Fatalf("redeemed = %+v", got)
	}
	for i, late := range []bool{true, false, false} {
		if got.Redeemed[i].Late != late {
			t.Errorf("coupon %d: late = %v", i, !late)
		}
	}
	wantCoupon(t, s, one, coupon.StateRedeemed, "o-1", "lock o-1", "lapse o-1", "expire", "late_redeem o-1")
	wantCoupon(t, s, two, coupon.StateRedeemed, "o-1", "lock o-1", "redeem o-1")
}

func TestRedeem_AfterReleaseIsLate(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	o := orderOf("ann", "o-1")
	id := give(t, s, "ann", tenOff("a"))
	lock(t, s, lockOf(o, id))
	released := release(t, s, o)
	if !slices.Equal(released.Moved, checkout.Moved{coupon.EventRelease}) {
		t.Errorf("moved %v", released.Moved)
	}
	first := asJSON(t, released)
	if got := asJSON(t, release(t, s, o)); got != first {
		t.Errorf("again %s, first %s", got, first)
	}
	if got := redeem(t, s, o); len(got.Redeemed) != 1 || !got.Redeemed[0].Late {
		t.Errorf("redeemed = %+v", got)
	}
	if _, err := s.ReleaseCoupons(t.Context(), o); !errors.Is(err, checkout.ErrRedeemed) {
		t.Errorf("release after redeem: %v", err)
	}
	wantCoupon(t, s, id, coupon.StateRedeemed, "o-1", "lock o-1", "release o-1", "late_redeem o-1")
}

func TestRelease_OfACouponWhoseTimeIsOverEndsIt(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	o := orderOf("ann", "o-1")
	id := give(t, s, "ann", tenOff("a"))
	lock(t, s, lockOf(o, id))
	endValidity(t, s, id)
	release(t, s, o)
	wantCoupon(t, s, id, coupon.StateExpired, "", "lock o-1", "release o-1")
}

// goneAfterPayment has o-1 lock two coupons, of which another order then redeems the
// first, whose terms say policy.
func goneAfterPayment(t *testing.T, s *Store, policy coupon.IfGone) (gone, held string, got checkout.Redeemed) {
	t.Helper()
	terms := tenOff("a")
	terms.IfGone = policy
	gone, held = give(t, s, "ann", terms), give(t, s, "ann", tenOff("b"))
	o, other := orderOf("ann", "o-1"), orderOf("ann", "o-2")
	lock(t, s, lockOf(o, gone, held))
	exec(t, s, `UPDATE coupons SET locked_until = now() - interval '2 seconds' WHERE id = $1::text::uuid`, gone)
	lock(t, s, lockOf(other, gone))
	redeem(t, s, other)
	got = redeem(t, s, o)
	if again := asJSON(t, redeem(t, s, o)); again != asJSON(t, got) {
		t.Errorf("again %s\nfirst %s", again, asJSON(t, got))
	}
	if len(got.Missing) != 1 || got.Missing[0].CouponID != gone || got.Missing[0].Policy != policy || got.Missing[0].DiscountMinor != 1_000 {
		t.Errorf("missing = %+v", got.Missing)
	}
	wantCoupon(t, s, gone, coupon.StateRedeemed, "o-2", "lock o-1", "lapse o-1", "lock o-2", "redeem o-2")
	return gone, held, got
}

func TestRedeem_GoneCouponThatIsHonouredKeepsItsDiscount(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, held, got := goneAfterPayment(t, s, coupon.GoneHonour)
	if got.Result != checkout.ResultRedeemed || got.TopUpMinor != 0 {
		t.Errorf("redeemed = %+v", got)
	}
	wantCoupon(t, s, held, coupon.StateRedeemed, "o-1", "lock o-1", "redeem o-1")
	if sums := ledgerSum(t, s, orderOf("ann", "o-1")); sums["honour"] != 1_000 || sums["redeem"] != 1_000 {
		t.Errorf("ledger = %v", sums)
	}
}

func TestRedeem_GoneCouponThatIsToppedUpIsNotGiven(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, held, got := goneAfterPayment(t, s, coupon.GoneTopUp)
	if got.Result != checkout.ResultRedeemed || got.TopUpMinor != 1_000 {
		t.Errorf("redeemed = %+v", got)
	}
	wantCoupon(t, s, held, coupon.StateRedeemed, "o-1", "lock o-1", "redeem o-1")
	if sums := ledgerSum(t, s, orderOf("ann", "o-1")); len(sums) != 1 || sums["redeem"] != 1_000 {
		t.Errorf("ledger = %v", sums)
	}
}

func TestRedeem_GoneCouponThatIsRefundedHasNoneRedeemed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	gone, held, got := goneAfterPayment(t, s, coupon.GoneRefund)
	if got.Result != checkout.ResultRefund || len(got.Redeemed) != 0 {
		t.Errorf("redeemed = %+v", got)
	}
	wantCoupon(t, s, held, coupon.StateIssued, "", "lock o-1", "release o-1")
	if sums := ledgerSum(t, s, orderOf("ann", "o-1")); len(sums) != 0 {
		t.Errorf("ledger = %v", sums)
	}
	if !slices.Equal(got.Moved, checkout.Moved{coupon.EventRelease}) {
		t.Errorf("moved %v", got.Moved)
	}
	if got := release(t, s, orderOf("ann", "o-1")); len(got.Released) != 2 || len(got.Moved) != 0 {
		t.Errorf("released = %+v", got)
	}
	for _, asked := range [][]string{{held}, {gone, held}} { // the second as it was locked
		if _, err := s.LockCoupons(t.Context(), lockOf(orderOf("ann", "o-1"), asked...)); !errors.Is(err, checkout.ErrOrderLocked) {
			t.Errorf("lock of a refused order: %v", err)
		}
	}
}

func TestRedeem_OfAVoidedCouponFindsItGone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	o := orderOf("ann", "o-1")
	id := give(t, s, "ann", tenOff("a"))
	lock(t, s, lockOf(o, id))
	_, err := s.VoidCoupon(t.Context(), ada, id)
	wantWhy(t, err, id, checkout.WhyLocked)
	release(t, s, o)
	if c, err := s.VoidCoupon(t.Context(), ada, id); err != nil || c.State != coupon.StateVoid {
		t.Errorf("%s, error %v", c.State, err)
	}
	_, err = s.VoidCoupon(t.Context(), ada, id)
	wantWhy(t, err, id, checkout.WhyVoid)
	if got := redeem(t, s, o); len(got.Missing) != 1 || len(got.Redeemed) != 0 {
		t.Errorf("redeemed = %+v", got)
	}
	wantCoupon(t, s, id, coupon.StateVoid, "", "lock o-1", "release o-1", "void")
	log, err := s.AuditLog(t.Context(), "coupon-sale", sale.Page{Limit: 10})
	if err != nil || len(log) != 1 || log[0].Subject != id || string(log[0].Action) != "coupon-void" {
		t.Errorf("audit log = %+v, error %v", log, err)
	}
	_, err = s.VoidCoupon(t.Context(), ada, newRID())
	var refused *checkout.CouponError
	if !errors.As(err, &refused) || refused.Why != checkout.WhyUnknown {
		t.Errorf("an unknown coupon: %v", err)
	}
}

func TestLock_OfFiftyOrdersForOneCouponHasOneWinner(t *testing.T) {
	t.Parallel()
	s := withoutDeadlocks(t)
	for round := range 4 {
		user := fmt.Sprintf("user-%d", round)
		id := give(t, s, user, tenOff("a"))
		var winners, losers sync.Map
		var group sync.WaitGroup
		for n := range 50 {
			group.Go(func() {
				o := orderOf(user, fmt.Sprintf("o-%d", n))
				_, err := s.LockCoupons(t.Context(), lockOf(o, id))
				var refused *checkout.CouponError
				switch {
				case err == nil:
					winners.Store(o.OrderID, true)
				case errors.As(err, &refused) && refused.Why == checkout.WhyLocked:
					losers.Store(o.OrderID, true)
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if won, lost := size(&winners), size(&losers); won != 1 || lost != 49 {
			t.Errorf("%d orders won, %d lost", won, lost)
		}
		winners.Range(func(key, _ any) bool {
			wantCoupon(t, s, id, coupon.StateLocked, key.(string), "lock "+key.(string))
			return true
		})
	}
}

func size(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

func TestRedeem_AHundredTimesAtOnceHasOneEffectAndOneAnswer(t *testing.T) {
	t.Parallel()
	s := withoutDeadlocks(t)
	o := orderOf("ann", "o-1")
	id := give(t, s, "ann", tenOff("a"))
	lock(t, s, lockOf(o, id))
	answers := make([]string, 100)
	var group sync.WaitGroup
	for n := range answers {
		group.Go(func() { answers[n] = asJSON(t, redeem(t, s, o)) })
	}
	group.Wait()
	if slices.Sort(answers); answers[0] != answers[99] || !strings.Contains(answers[0], `"result":"redeemed"`) {
		t.Errorf("answers differ, or not redeemed: %s and %s", answers[0], answers[99])
	}
	wantCoupon(t, s, id, coupon.StateRedeemed, "o-1", "lock o-1", "redeem o-1")
	if sums := ledgerSum(t, s, o); sums["redeem"] != 1_000 {
		t.Errorf("ledger = %v", sums)
	}
}

func TestLock_OfTheSameOrderAtOnceHasOneEffectAndOneAnswer(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	id := give(t, s, "ann", tenOff("a"))
	answers := make([]string, 30)
	var group sync.WaitGroup
	for n := range answers {
		group.Go(func() { answers[n] = asJSON(t, lock(t, s, lockOf(orderOf("ann", "o-1"), id))) })
	}
	group.Wait()
	if slices.Sort(answers); answers[0] != answers[29] {
		t.Errorf("answers differ: %s and %s", answers[0], answers[29])
	}
	wantCoupon(t, s, id, coupon.StateLocked, "o-1", "lock o-1")
}

func TestLock_OfOverlappingCouponsInOppositeOrdersNeverStops(t *testing.T) {
	t.Parallel()
	s := withoutDeadlocks(t)
	ids := []string{give(t, s, "ann", tenOff("a")), give(t, s, "ann", tenOff("b")), give(t, s, "ann", tenOff("c"))}
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			o := orderOf("ann", fmt.Sprintf("o-%d", n))
			asked := slices.Clone(ids)
			if n%2 == 0 {
				slices.Reverse(asked)
			}
			for range 20 {
				_, err := s.LockCoupons(t.Context(), lockOf(o, asked...))
				var refused *checkout.CouponError
				if err != nil && !errors.As(err, &refused) {
					t.Errorf("lock: %v", err)
				}
				if err == nil {
					release(t, s, o)
				}
			}
		})
	}
	group.Wait()
	for _, id := range ids {
		if c := instance(t, s, id); c.State != coupon.StateIssued {
			t.Errorf("coupon is %s of %s", c.State, c.OrderID)
		}
	}
}

func TestJobs_PassOverWhatAnotherHasInHandAndKeepToTheirLimit(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	o := orderOf("ann", "o-1")
	ids := []string{give(t, s, "ann", tenOff("a")), give(t, s, "ann", tenOff("b")), give(t, s, "ann", tenOff("c"))}
	lock(t, s, lockOf(o, ids...))
	passDeadline(t, s, "ann")
	held, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(t.Context(), `SELECT FROM coupons WHERE id = $1::text::uuid FOR UPDATE`, ids[0]); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 1, 0} {
		if n, err := s.LapseLocks(t.Context(), 1); n != want || err != nil {
			t.Errorf("%d lapsed, error %v, want %d", n, err, want)
		}
	}
	if err := held.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.LapseLocks(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d lapsed, error %v", n, err)
	}
}

func TestUsableCoupons_AreThoseThatAnOrderCouldLock(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	soon := tenOff("a")
	soon.EndsAt = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	always, first := give(t, s, "ann", tenOff("a")), give(t, s, "ann", soon)
	locked, overdue, void := give(t, s, "ann", tenOff("a")), give(t, s, "ann", tenOff("b")), give(t, s, "ann", tenOff("a"))
	give(t, s, "ben", tenOff("a"))
	lock(t, s, lockOf(orderOf("ann", "o-1"), overdue))
	passDeadline(t, s, "ann")
	lock(t, s, lockOf(orderOf("ann", "o-2"), locked))
	if _, err := s.VoidCoupon(t.Context(), ada, void); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Time][]string{
		{}: {first, always, overdue},
		time.Date(2999, 6, 1, 0, 0, 0, 0, time.UTC): {always, overdue, first},
	} {
		usable, now, err := s.UsableCoupons(t.Context(), "ann", at)
		if err != nil || now.IsZero() || now.Location() != time.UTC {
			t.Fatalf("now %v, error %v", now, err)
		}
		if got := couponIDs(usable); !slices.Equal(got, want) {
			t.Errorf("at %v usable are %v, want %v", at, got, want)
		}
	}
	all, err := s.CouponsOf(t.Context(), "ann", 4)
	if want := []string{void, overdue, locked, first}; err != nil || !slices.Equal(couponIDs(all), want) {
		t.Errorf("coupons are %v, error %v, want %v", couponIDs(all), err, want)
	}
}

func couponIDs(coupons []coupon.Instance) []string {
	ids := make([]string, len(coupons))
	for i, c := range coupons {
		ids[i] = c.ID
	}
	return ids
}
