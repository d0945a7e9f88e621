package pgstore

import (
	"testing"

	"sluice/shared/coupon"
)

func TestJobs_MoveCouponsWhoseTermsNobodyCanRead(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	broken, ended, sound := give(t, s, "ann", tenOff("a")), give(t, s, "ann", tenOff("b")), give(t, s, "ann", tenOff("c"))
	lock(t, s, lockOf(orderOf("ann", "o-1"), broken, ended, sound))
	passDeadline(t, s, "ann")
	endValidity(t, s, ended)
	exec(t, s, `UPDATE coupons SET locked_until = now() - interval '1 hour', snapshot = '{"value": "much"}' WHERE id = $1::text::uuid`, broken) // the first that is due
	if n, err := s.LapseLocks(t.Context(), 10); n != 3 || err != nil {
		t.Errorf("%d lapsed, error %v", n, err)
	}
	exec(t, s, `UPDATE coupons SET ends_at = now() - interval '1 hour' WHERE id = $1::text::uuid`, broken)
	endValidity(t, s, sound)
	if n, err := s.ExpireCoupons(t.Context(), 10); n != 2 || err != nil {
		t.Errorf("%d expired, error %v", n, err)
	}
	wantCoupon(t, s, ended, coupon.StateExpired, "", "lock o-1", "lapse o-1")
	wantCoupon(t, s, sound, coupon.StateExpired, "", "lock o-1", "lapse o-1", "expire")
	var state coupon.State
	if err := s.pool.QueryRow(t.Context(), `SELECT state FROM coupons WHERE id = $1::text::uuid`, broken).Scan(&state); err != nil || state != coupon.StateExpired {
		t.Errorf("it is %s, error %v", state, err)
	}
}
