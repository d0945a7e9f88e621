package redisstock

import (
	"errors"
	"sync"
	"testing"

	"sluice/shared/sale"
)

func adjust(t testing.TB, c *Client, s sale.Sale, epoch int64, adjustments ...sale.Adjustment) (sale.Snapshot, []sale.AdjustResult) {
	t.Helper()
	snap, results, err := c.Adjust(t.Context(), s.ID, epoch, adjustments)
	must(t, err)
	return snap, results
}

func TestAdjust_SoldOutFollowsBothWays(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 1)
	before, _ := reserve(t, c, s, attempt("ada"))
	snap, r := adjust(t, c, s, 1, sale.Adjustment{ID: "more", Delta: 2})
	equal(t, "code", r[0], sale.AdjustResult{Code: sale.AdjustDone, Stock: 2})
	equal(t, "sold out", snap.SoldOut, false)
	equal(t, "total", snap.Total, 3)
	equal(t, "version", snap.Version, before.Version+1)
	snap, r = adjust(t, c, s, 1, sale.Adjustment{ID: "less", Delta: -2})
	equal(t, "code", r[0], sale.AdjustResult{Code: sale.AdjustDone})
	equal(t, "sold out", snap.SoldOut, true)
	equal(t, "total", snap.Total, 1)
}

func TestAdjust_RefusedStaysRefusedAtItsEpoch(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 2)
	before, r := adjust(t, c, s, 1, sale.Adjustment{ID: "less", Delta: -3})
	equal(t, "code", r[0], sale.AdjustResult{Code: sale.AdjustUnsold, Stock: 2})
	equal(t, "version", before.Version, 1)
	snap, r := adjust(t, c, s, 1, sale.Adjustment{ID: "more", Delta: 8}, sale.Adjustment{ID: "less", Delta: -3})
	equal(t, "more", r[0], sale.AdjustResult{Code: sale.AdjustDone, Stock: 10})
	equal(t, "less again", r[1], sale.AdjustResult{Code: sale.AdjustUnsold, Stock: 10})
	equal(t, "total", snap.Total, 10)
	adjusted, err := c.Adjusted(t.Context(), s.ID, 1)
	must(t, err)
	equal(t, "how many moved units", len(adjusted), 1)
	equal(t, "what moved units", adjusted[0], sale.Adjustment{ID: "more", SaleID: s.ID, Delta: 8})
}

func TestAdjust_ManyAtOnceMoveOnce(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 10)
	var calls sync.WaitGroup
	for range 100 {
		calls.Go(func() {
			if _, _, err := c.Adjust(t.Context(), s.ID, 1, []sale.Adjustment{{ID: "a", Delta: 5}, {ID: "b", Delta: -4}}); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	snap, _, err := c.Snapshot(t.Context(), s.ID, 1)
	must(t, err)
	equal(t, "stock", snap.Stock, 11)
	equal(t, "total", snap.Total, 11)
}

func TestAdjust_WhatALoadNamesMovesNothingAtTheNewEpoch(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 10)
	counted, open := sale.Adjustment{ID: "counted", Delta: 5}, sale.Adjustment{ID: "open", Delta: -4}
	adjust(t, c, s, 1, counted, open)
	must(t, c.Fence(t.Context(), s.ID, 2, "next"))
	must(t, c.LoadAdjusted(t.Context(), s.ID, 2, "next", []sale.Adjustment{counted}))
	for _, epoch := range []int64{1, 2} {
		if _, _, err := c.Adjust(t.Context(), s.ID, epoch, []sale.Adjustment{open}); !errors.Is(err, sale.ErrStale) {
			t.Errorf("adjust at epoch %d behind the fence: %v", epoch, err)
		}
	}
	e := entry(s)
	e.Epoch = 2
	must(t, c.Flip(t.Context(), "next", Live{Entry: e, Total: 15, Stock: 15}))
	snap, r := adjust(t, c, s, 2, counted, open)
	equal(t, "counted", r[0].Code, sale.AdjustAlready)
	equal(t, "open", r[1], sale.AdjustResult{Code: sale.AdjustDone, Stock: 11})
	equal(t, "total", snap.Total, 11)
}
