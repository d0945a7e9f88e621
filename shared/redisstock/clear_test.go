package redisstock

import (
	"errors"
	"testing"

	"sluice/shared/sale"
)

func TestClear_RemovesEveryEpochOfThisSaleOnly(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s, other := newLoadedSale(t, c, 2), newLoadedSale(t, c, 2)
	reserve(t, c, s, attempt("ada"))
	const newest = 2*clearing + 1 // older epochs left their keys behind
	for _, epoch := range []int64{2, clearing, newest - 1} {
		for _, name := range keys(s.ID, epoch)[1:] {
			must(t, c.rdb.Set(t.Context(), name, "left", 0).Err())
		}
	}
	for range 2 {
		must(t, c.Clear(t.Context(), s.ID, newest))
	}
	equal(t, "keys left", len(keysOf(t, c, s.ID)), 0)
	if _, _, err := c.Snapshot(t.Context(), s.ID, 1); !errors.Is(err, sale.ErrStale) {
		t.Errorf("read afterwards: %v", err)
	}
	_, _, err := c.Snapshot(t.Context(), other.ID, 1)
	must(t, err)
}
