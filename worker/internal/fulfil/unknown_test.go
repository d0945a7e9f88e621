package fulfil

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/shared/sale"
)

func TestUnknown_IsPassedOverForAMinuteThenAskedAgain(t *testing.T) {
	t.Parallel()
	var u unknown
	now := time.Now()
	if got := u.passOver(now); len(got) != 0 || got == nil {
		t.Errorf("at first %v", got)
	}
	u.add("r1")
	if got := u.passOver(now.Add(unknownFor)); !slices.Equal(got, []string{"r1"}) {
		t.Errorf("within the minute %v", got)
	}
	if got := u.passOver(now.Add(unknownFor + time.Second)); len(got) != 0 {
		t.Errorf("after the minute %v", got)
	}
	for range 2 * unknownMost {
		u.add(time.Now().String())
	}
	if len(u.rids) > unknownMost {
		t.Errorf("remembers %d", len(u.rids))
	}
}

// stuck is a Redis that has no ticket of any of a sale's many releases.
type stuck struct {
	script
	rows []PendingRelease
	read int
}

func (s *stuck) UnappliedReleases(_ context.Context, limit int, except []string) ([]PendingRelease, error) {
	s.read++
	page := slices.DeleteFunc(slices.Clone(s.rows), func(p PendingRelease) bool { return slices.Contains(except, p.RID) })
	return page[:min(limit, len(page))], nil
}

func (s *stuck) Release(_ context.Context, _ string, _ int64, releases []sale.Release) (sale.Snapshot, []sale.Released, error) {
	results := make([]sale.Released, len(releases))
	for i := range results {
		results[i] = sale.ReleaseUnknown
	}
	return sale.Snapshot{}, results, nil
}

func TestReleases_MoreUnknownThanCanBeRememberedAreNoHotLoop(t *testing.T) {
	t.Parallel()
	s := &stuck{}
	for i := range unknownMost + 2*releasePage {
		s.rows = append(s.rows, PendingRelease{Release: sale.Release{RID: fmt.Sprint(i), SaleID: "phone"}, Epoch: 1})
	}
	f := newFulfilment(&s.script)
	r := newReleases(s, s, f.stores.Hints, f.hit, f.metrics, f.log)
	for rounds := 0; ; rounds++ {
		_ = r.round(t.Context()) // says that tickets are missing
		select {
		case <-r.loop.poked:
			if rounds > len(s.rows) {
				t.Fatal("the loop pokes itself for ever")
			}
			continue
		default:
		}
		break
	}
	if most := len(s.rows)/releasePage + 2; s.read > most {
		t.Errorf("%d pages read at once, want at most %d", s.read, most)
	}
}
