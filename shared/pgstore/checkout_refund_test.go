package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
)

func refund(t testing.TB, s *Store, r checkout.Refund) checkout.Refunded {
	t.Helper()
	refunded, err := s.RefundCoupons(t.Context(), r)
	if err != nil {
		t.Error(err)
	}
	return refunded
}

func units(id string, n int64) checkout.RefundLine { return checkout.RefundLine{ID: id, Quantity: n} }

// allOfIt is a refund of all that cart has.
func allOfIt(o checkout.Order, id string) checkout.Refund {
	return checkout.Refund{Order: o, RefundID: id, Lines: []checkout.RefundLine{units("1", 3), units("2", 1)}, Shipping: true}
}

// ship takes the fee of shipping off, borne by the platform.
func ship() coupon.Snapshot {
	terms := tenOff("ship")
	terms.Kind, terms.Value = coupon.KindFreeShipping, 0
	terms.Bearers = []coupon.Bearer{{Party: "platform", BPS: 10_000}}
	terms.ReturnOnFullRefund = true
	return terms
}

// returning is tenOff that goes back on a full refund.
func returning(group string) coupon.Snapshot {
	terms := tenOff(group)
	terms.ReturnOnFullRefund = true
	return terms
}

// paid locks and redeems coupons for an order.
func paid(t testing.TB, s *Store, o checkout.Order, ids ...string) checkout.Locked {
	t.Helper()
	locked := lock(t, s, lockOf(o, ids...))
	redeem(t, s, o)
	return locked
}

// partitions are all ways to refund cart in steps: units of the lines and shipping.
func partitions() (all [][]checkout.Refund) {
	var grow func(left [3]int64, steps []checkout.Refund)
	grow = func(left [3]int64, steps []checkout.Refund) {
		if left == [3]int64{} {
			all = append(all, slices.Clone(steps))
			return
		}
		for a := range left[0] + 1 {
			for b := range left[1] + 1 {
				for c := range left[2] + 1 {
					if a+b+c == 0 {
						continue
					}
					step := checkout.Refund{RefundID: fmt.Sprintf("r-%d", len(steps)), Shipping: c == 1}
					for id, n := range map[string]int64{"1": a, "2": b} {
						if n > 0 {
							step.Lines = append(step.Lines, units(id, n))
						}
					}
					grow([3]int64{left[0] - a, left[1] - b, left[2] - c}, append(steps, step))
				}
			}
		}
	}
	grow([3]int64{3, 1, 1}, nil)
	return all
}

func TestRefund_InEveryPartitionSumsToTheWhole(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	all := partitions()
	if len(all) < 50 {
		t.Fatalf("only %d partitions", len(all))
	}
	for n, steps := range all {
		user := fmt.Sprintf("user-%d", n)
		odd := returning("a") // a discount that no number of units divides
		odd.Value = 997
		ids := []string{give(t, s, user, odd), give(t, s, user, ship()), give(t, s, user, tenOff("b"))}
		o := orderOf(user, "o-1")
		locked := paid(t, s, o, ids...)
		if given := ledgerSum(t, s, o)["redeem"]; given != locked.Quote.DiscountMinor {
			t.Fatalf("the parties bear %d of %d", given, locked.Quote.DiscountMinor)
		}
		var money, discount int64
		for i, step := range steps {
			step.Order = o
			got := refund(t, s, step)
			money += got.AmountMinor
			for _, b := range got.Bearers {
				discount += b.DiscountMinor
			}
			if last := i == len(steps)-1; got.Full != last || (len(got.Returned) == 2) != last {
				t.Errorf("partition %v, step %d: full %v, returned %v", steps, i, got.Full, got.Returned)
			}
		}
		if money != locked.Quote.PayableMinor || discount != locked.Quote.DiscountMinor {
			t.Errorf("partition %v: %d of %d went back, discounts %d of %d", steps, money, locked.Quote.PayableMinor, discount, locked.Quote.DiscountMinor)
		}
		wantEvenLedger(t, s, o)
	}
}

func TestRefund_APartyThatBearsSeveralPartsHasOneRowForTheirSum(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	terms := tenOff("a")
	terms.Value, terms.Bearers = 997, []coupon.Bearer{{Party: "shop", BPS: 5_000}, {Party: "bank", BPS: 3_000}, {Party: "shop", BPS: 2_000}}
	o := orderOf("ann", "o-1")
	locked := paid(t, s, o, give(t, s, "ann", terms))
	if given := ledgerSum(t, s, o)["redeem"]; given != 997 || len(locked.Quote.Bearers) != 2 {
		t.Errorf("the parties bear %d, %+v", given, locked.Quote.Bearers)
	}
	wantLedgerRows(t, s, o, 4)
	for i, lines := range [][]checkout.RefundLine{{{ID: "1", Quantity: 1}}, {{ID: "1", Quantity: 2}, {ID: "2", Quantity: 1}}} {
		refund(t, s, checkout.Refund{Order: o, RefundID: fmt.Sprint("r-", i), Lines: lines, Shipping: i == 1})
	}
	wantLedgerRows(t, s, o, 4+2+4)
	wantEvenLedger(t, s, o)
}

func wantLedgerRows(t *testing.T, s *Store, o checkout.Order, want int) {
	t.Helper()
	var rows int
	err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM coupon_ledger WHERE user_id = $1 AND order_id = $2`, o.UserID, o.OrderID).Scan(&rows)
	if err != nil || rows != want {
		t.Errorf("%d rows of the ledger, want %d, error %v", rows, want, err)
	}
}

// wantEvenLedger wants every part that a party bore of a coupon reversed.
func wantEvenLedger(t *testing.T, s *Store, o checkout.Order) {
	t.Helper()
	var uneven, rows int
	err := s.pool.QueryRow(t.Context(), `
		SELECT count(*) FILTER (WHERE sum <> 0), coalesce(sum(rows), 0) FROM (
			SELECT sum(amount), count(*) AS rows FROM coupon_ledger WHERE user_id = $1 AND order_id = $2
			GROUP BY coupon_id, cycle, part, part_id, party
		) sums`, o.UserID, o.OrderID).Scan(&uneven, &rows)
	if err != nil || uneven != 0 || rows == 0 {
		t.Errorf("%d parts of the ledger are not even, of %d rows, error %v", uneven, rows, err)
	}
}

func TestRefund_IDHasOneEffectAndOneAnswer(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	o := orderOf("ann", "o-1")
	paid(t, s, o, give(t, s, "ann", tenOff("a")))
	r := checkout.Refund{Order: o, RefundID: "r-1", Lines: []checkout.RefundLine{units("1", 2), units("2", 1)}}
	answers := make([]string, 20)
	var group sync.WaitGroup
	for n := range answers {
		group.Go(func() { answers[n] = asJSON(t, refund(t, s, r)) })
	}
	group.Wait()
	if slices.Sort(answers); answers[0] != answers[19] {
		t.Errorf("answers differ: %s and %s", answers[0], answers[19])
	}
	again := r
	again.Lines = []checkout.RefundLine{units("2", 1), units("1", 2)}
	if got := refund(t, s, again); asJSON(t, got) != answers[0] || !got.Repeated {
		t.Errorf("again %+v", got)
	}
	again.Shipping = true
	if _, err := s.RefundCoupons(t.Context(), again); !errors.Is(err, checkout.ErrOtherRefund) {
		t.Errorf("another body: %v", err)
	}
	again.RefundID = "r-2"
	var less *checkout.LineError
	if _, err := s.RefundCoupons(t.Context(), again); !errors.As(err, &less) || *less != (checkout.LineError{LineID: "1", LeftUnits: 1}) {
		t.Errorf("more than is left: %v", err)
	}
	if sums := ledgerSum(t, s, o); sums["refund"] != -(334 + 500) { // 2 of 3 units of 5.00, rounded for the buyer's money, and 5.00
		t.Errorf("ledger = %v", sums)
	}
}

func TestRefund_OfWhatWasNotRedeemedIsRefused(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	o := orderOf("ann", "o-1")
	if _, err := s.RefundCoupons(t.Context(), allOfIt(o, "r-1")); !errors.Is(err, checkout.ErrNoOrder) {
		t.Errorf("an unknown order: %v", err)
	}
	lock(t, s, lockOf(o, give(t, s, "ann", tenOff("a"))))
	if _, err := s.RefundCoupons(t.Context(), allOfIt(o, "r-1")); !errors.Is(err, checkout.ErrNotRedeemed) {
		t.Errorf("a locked order: %v", err)
	}
}

func TestRefund_InFullReturnsCouponsForAnotherCycle(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	o := orderOf("ann", "o-1")
	back, ended, kept := give(t, s, "ann", returning("a")), give(t, s, "ann", returning("b")), give(t, s, "ann", tenOff("c"))
	paid(t, s, o, back, ended, kept)
	endValidity(t, s, ended)
	got := refund(t, s, allOfIt(o, "r-1"))
	if want := []string{back, ended}; !got.Full || !slices.Equal(got.Returned, want) {
		t.Errorf("full %v, returned %v, want %v", got.Full, got.Returned, want)
	}
	wantCoupon(t, s, back, coupon.StateIssued, "", "lock o-1", "redeem o-1", "return o-1")
	wantCoupon(t, s, ended, coupon.StateExpired, "", "lock o-1", "redeem o-1", "return o-1")
	wantCoupon(t, s, kept, coupon.StateRedeemed, "o-1", "lock o-1", "redeem o-1")
	if c := instance(t, s, back); c.Cycle != 2 {
		t.Errorf("it is in cycle %d", c.Cycle)
	}
	wantEvenLedger(t, s, o)

	next := orderOf("ann", "o-2")
	paid(t, s, next, back)
	refund(t, s, allOfIt(next, "r-1"))
	if c := instance(t, s, back); c.Cycle != 3 || c.State != coupon.StateIssued {
		t.Errorf("it is %s in cycle %d", c.State, c.Cycle)
	}
	if again := redeem(t, s, o); len(again.Redeemed) != 3 || !again.Repeated {
		t.Errorf("redeem after the refund: %+v", again)
	}
}

// The discount of a coupon that was topped up was paid, so it goes back as money; that of
// one that was honoured is reversed like any, in the cycle in which it was given.
func TestRefund_OfGoneCouponsReversesWhatWasGiven(t *testing.T) {
	t.Parallel()
	for _, policy := range []coupon.IfGone{coupon.GoneTopUp, coupon.GoneHonour} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := newStore(t)
			terms := returning("a")
			terms.IfGone = policy
			gone, held := give(t, s, "ann", terms), give(t, s, "ann", returning("b"))
			o, other := orderOf("ann", "o-1"), orderOf("ann", "o-2")
			locked := lock(t, s, lockOf(o, gone, held))
			passDeadline(t, s, "ann")
			paid(t, s, other, gone)
			redeemed := redeem(t, s, o)
			refund(t, s, allOfIt(other, "r-1")) // and the coupon is in its next cycle
			got := refund(t, s, allOfIt(o, "r-1"))
			if want := locked.Quote.PayableMinor + redeemed.TopUpMinor; got.AmountMinor != want {
				t.Errorf("%d went back, want %d", got.AmountMinor, want)
			}
			if !slices.Equal(got.Returned, []string{held}) {
				t.Errorf("returned %v, want %s", got.Returned, held)
			}
			wantEvenLedger(t, s, o)
			wantEvenLedger(t, s, other)
		})
	}
}
