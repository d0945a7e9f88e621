package chaos

import "testing"

func TestRows_ARoundHasTimeForThreefoldItsBound(t *testing.T) {
	t.Parallel()
	for _, row := range Rows() {
		if within := raceFor + raceWithin + slack*row.Bound; within >= roundWithin {
			t.Errorf("row %s may take %s after a race, and the round ends after %s", row.ID, within, roundWithin)
		}
	}
}

func TestHit_NoNumberBelowZeroIsOne(t *testing.T) {
	t.Parallel()
	r := newRound(Row{ID: "0"}, 1, nil, nil, "", 0)
	r.hit(2, "a thing happened")
	r.hit(-3, "a counter fell")
	if f := r.fault(); f.Pass || f.Hits != 2 || len(f.Violations) != 1 {
		t.Errorf("hits %d, violations %v", f.Hits, f.Violations)
	}
}
