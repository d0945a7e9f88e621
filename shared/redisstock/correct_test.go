package redisstock

import (
	"testing"
)

func TestCorrect_OnlyWhatHasNotMoved(t *testing.T) {
	t.Parallel()
	c := connect(t)
	s := newLoadedSale(t, c, 3)
	reserve(t, c, s, attempt("ada"))
	seen, handOff, err := c.Snapshot(t.Context(), s.ID, 1)
	must(t, err)
	if _, done, err := c.Correct(t.Context(), seen, handOff.Count+1, 2); done || err != nil {
		t.Errorf("with another handoff list: %v, %v", done, err)
	}
	reserve(t, c, s, attempt("bob")) // the version stays as it is
	if snap, done, err := c.Correct(t.Context(), seen, handOff.Count, 3); done || err != nil || snap.Stock != 1 {
		t.Errorf("after a reservation: %v, %v, stock %d", done, err, snap.Stock)
	}
	seen, handOff, err = c.Snapshot(t.Context(), s.ID, 1)
	must(t, err)
	for _, want := range []struct {
		stock   int64
		soldOut bool
	}{{0, true}, {2, false}} {
		snap, done, err := c.Correct(t.Context(), seen, handOff.Count, want.stock)
		if !done || err != nil || snap.Stock != want.stock || snap.SoldOut != want.soldOut || snap.Version <= seen.Version {
			t.Errorf("to %d: %v, %v, %+v", want.stock, done, err, snap)
		}
		seen = snap
	}
	if _, done, err := c.Correct(t.Context(), seen, handOff.Count+1, 2); done || err != nil {
		t.Errorf("again with an old view: %v, %v", done, err)
	}
}
