package checkout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"sluice/shared/checkout"
	"sluice/shared/coupon"
	"sluice/shared/pricing"
)

// answers are a store that answers every call the same.
type answers struct {
	locked   checkout.Locked
	redeemed checkout.Redeemed
	released checkout.Released
	refunded checkout.Refunded
	err      error
}

func (a answers) LockCoupons(context.Context, checkout.Lock) (checkout.Locked, error) {
	return a.locked, a.err
}

func (a answers) RedeemCoupons(context.Context, checkout.Order) (checkout.Redeemed, error) {
	return a.redeemed, a.err
}

func (a answers) ReleaseCoupons(context.Context, checkout.Order) (checkout.Released, error) {
	return a.released, a.err
}

func (a answers) RefundCoupons(context.Context, checkout.Refund) (checkout.Refunded, error) {
	return a.refunded, a.err
}

// callAll makes each call once and returns the last error.
func callAll(t *testing.T, a answers, hit func(string) error) (*Metrics, error) {
	t.Helper()
	m := NewMetrics(prometheus.NewRegistry())
	c := NewCalls(a, 1, hit, m)
	_, err := c.LockCoupons(t.Context(), checkout.Lock{CouponIDs: []string{"a", "b"}})
	_, err2 := c.RedeemCoupons(t.Context(), checkout.Order{})
	_, err3 := c.ReleaseCoupons(t.Context(), checkout.Order{})
	_, err4 := c.RefundCoupons(t.Context(), checkout.Refund{})
	return m, errors.Join(err, err2, err3, err4)
}

func (m *Metrics) wantCalls(t *testing.T, outcome string) {
	t.Helper()
	for _, call := range []string{callLock, callRedeem, callRelease, callRefund} {
		if n := testutil.ToFloat64(m.calls.WithLabelValues(call, outcome)); n != 1 {
			t.Errorf("%v calls %s counted as %s, want 1", n, call, outcome)
		}
	}
}

func TestCalls_CountWhatTheyMoveAndARepeatedOneMovesNothing(t *testing.T) {
	t.Parallel()
	a := answers{
		locked: checkout.Locked{Moved: checkout.Moved{coupon.EventLapse, coupon.EventLock, coupon.EventLock}},
		redeemed: checkout.Redeemed{Moved: checkout.Moved{coupon.EventRedeem, coupon.EventLapse, coupon.EventLateRedeem},
			Missing: []checkout.MissingCoupon{{CouponID: "c", Policy: coupon.GoneTopUp}}},
		released: checkout.Released{Moved: checkout.Moved{coupon.EventRelease}},
		refunded: checkout.Refunded{Moved: checkout.Moved{coupon.EventReturn}},
	}
	m, err := callAll(t, a, never)
	if err != nil {
		t.Fatal(err)
	}
	m.wantCalls(t, outcomeDone)
	for event, want := range map[string]float64{"lock": 2, "release": 1, "lapse": 2, "redeem": 1, "late_redeem": 1, "return": 1, "expire": 0} {
		if m.count(event) != want {
			t.Errorf("%s: %v, want %v", event, m.count(event), want)
		}
	}
	if n := testutil.ToFloat64(m.missing.WithLabelValues("top_up")); n != 1 {
		t.Errorf("%v missing are to be topped up", n)
	}
	a = answers{redeemed: checkout.Redeemed{Missing: a.redeemed.Missing}}
	a.locked.Repeated, a.redeemed.Repeated, a.released.Repeated, a.refunded.Repeated = true, true, true, true
	m, _ = callAll(t, a, never)
	m.wantCalls(t, outcomeRepeated)
	if n := testutil.ToFloat64(m.missing.WithLabelValues("top_up")); n != 0 {
		t.Errorf("%v are missing once more", n)
	}
}

func TestCalls_AnOrderToBeRefundedIsCountedApart(t *testing.T) {
	t.Parallel()
	m, _ := callAll(t, answers{redeemed: checkout.Redeemed{Result: checkout.ResultRefund}}, never)
	if n := testutil.ToFloat64(m.calls.WithLabelValues(callRedeem, outcomeRefused)); n != 1 {
		t.Errorf("%v redeems counted as refused", n)
	}
}

func TestCalls_TellRefusalsFromFaults(t *testing.T) {
	t.Parallel()
	for refusal, want := range map[error]string{
		checkout.ErrNoOrder: outcomeOrder, checkout.ErrOrderLocked: outcomeOrder, checkout.ErrRedeemed: outcomeOrder, checkout.ErrNotRedeemed: outcomeOrder,
		&checkout.CouponError{}: outcomeCoupon, &checkout.NotApplicableError{}: outcomeCart, &pricing.InvalidError{}: outcomeCart,
		&checkout.LineError{}: outcomeAmount, checkout.ErrOtherRefund: outcomeAmount, errors.New("broken"): outcomeFault,
	} {
		m, err := callAll(t, answers{err: fmt.Errorf("cannot: %w", refusal)}, func(point string) error { t.Errorf("met %s", point); return nil })
		if !errors.Is(err, refusal) {
			t.Errorf("%v became %v", refusal, err)
		}
		m.wantCalls(t, want)
	}
}

func TestCalls_MeetTheirFailpointAfterTheCommit(t *testing.T) {
	t.Parallel()
	var met []string
	broken := errors.New("injected")
	_, err := callAll(t, answers{}, func(point string) error { met = append(met, point); return broken })
	if want := []string{LockCommitted, RedeemCommitted, ReleaseCommitted, RefundCommitted}; !slices.Equal(met, want) {
		t.Errorf("met %v, want %v", met, want)
	}
	if !errors.Is(err, broken) {
		t.Errorf("error = %v", err)
	}
	for _, call := range []string{"lock", "redeem", "release", "refund", "lapse", "expire"} {
		met = nil
		if err := Decided(func(point string) error { met = append(met, point); return nil })(call); err != nil || !slices.Contains(Points(), met[0]) {
			t.Errorf("%s meets %v before its commit, error %v", call, met, err)
		}
	}
}

// slow is a store whose redeems take until they are let go.
type slow struct {
	answers
	begun, end chan struct{}
}

func (s slow) RedeemCoupons(context.Context, checkout.Order) (checkout.Redeemed, error) {
	s.begun <- struct{}{}
	<-s.end
	return s.redeemed, nil
}

func TestCalls_AreAtMostSoManyInTheStoreAtATime(t *testing.T) {
	t.Parallel()
	s := slow{begun: make(chan struct{}), end: make(chan struct{})}
	c := NewCalls(s, 2, never, NewMetrics(prometheus.NewRegistry()))
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			if _, err := c.RedeemCoupons(t.Context(), checkout.Order{}); err != nil {
				t.Error(err)
			}
		})
		<-s.begun
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := c.LockCoupons(ended, checkout.Lock{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the third is in the store: %v", err)
	}
	close(s.end)
	calls.Wait()
	if _, err := c.LockCoupons(t.Context(), checkout.Lock{}); err != nil {
		t.Errorf("the turns are not passed on: %v", err)
	}
}
