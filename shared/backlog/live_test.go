package backlog

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/shared/sale"
)

// notLiveOf are the sales that are not live and should sell, and how many were seen.
func (r *rig) notLiveOf() (ids []string, seen int) {
	all := r.Standings()
	for _, s := range all {
		if s.NotLive {
			ids = append(ids, s.SaleID)
		}
	}
	return ids, len(all)
}

func TestStandings_ASaleThatShouldSellAndIsLostOrRebuilt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, now := newRig(t), time.Now()
		entry := func(id string, epoch int64, opens, closes time.Duration) sale.Entry {
			return sale.Entry{Sale: sale.Sale{ID: id, OpensAt: now.Add(opens), ClosesAt: now.Add(closes)}, Epoch: epoch}
		}
		apply := func(entries ...sale.Entry) {
			for _, e := range entries {
				r.Apply(e)
			}
		}
		take := func(epoch int64, err error, ids ...string) {
			for _, id := range ids {
				r.Take(time.Now(), id, sale.Snapshot{Epoch: epoch}, sale.HandOff{}, err)
			}
		}
		want := func(when string, seen int, ids ...string) {
			t.Helper()
			if got, n := r.notLiveOf(); !slices.Equal(got, ids) || n != seen {
				t.Errorf("%s: %v of %d, want %v of %d", when, got, n, ids, seen)
			}
		}
		apply(entry("open", 1, -time.Hour, time.Hour), entry("early", 1, time.Minute, time.Hour), entry("over", 1, -time.Hour, -time.Minute),
			entry("bare", 0, -time.Hour, time.Hour))
		want("before Redis was asked", 0)
		take(1, errors.New("connection refused"), "open", "early", "over")
		want("while it does not answer", 0)
		take(1, nil, "open", "early", "over")
		want("live", 3)
		take(1, sale.ErrStale, "open", "early", "over", "bare")
		want("lost", 4, "open")
		take(1, errors.New("connection refused"), "open")
		want("lost, and Redis does not answer", 4, "open")
		time.Sleep(2 * time.Minute)
		want("another has opened", 4, "early", "open")
		rebuilt := entry("open", 2, -time.Hour, time.Hour)
		take(2, nil, "open", "early")
		rebuilt.Rebuilding = true
		apply(rebuilt)
		want("a rebuild is announced", 4, "open")
		rebuilt.Rebuilding = false
		apply(rebuilt)
		want("its end is announced, and Redis was not asked again", 4, "open")
		take(2, nil, "open")
		want("live again", 4)
		rebuilt.Retired = true
		apply(rebuilt)
		want("retired", 3)
	})
}

// A sale that cannot be read is not told as one of which nothing waits.
func TestWatch_ASaleOfWhichNothingWaitedIsStaleOnceItIsNotReadAnyMore(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"lost": sale.ErrStale, "redis does not answer": errors.New("connection refused")} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, "phone")
			read := func() { r.Take(time.Now(), "phone", sale.Snapshot{Epoch: 1}, sale.HandOff{}, nil) }
			read()
			time.Sleep(time.Second)
			read()
			if s := r.phone(); s.Stale || !s.AgeKnown() {
				t.Errorf("%s: %+v right after it was read", name, s)
			}
			for range 7 {
				time.Sleep(time.Second)
				r.Take(time.Now(), "phone", sale.Snapshot{}, sale.HandOff{}, err)
			}
			s := r.phone()
			if _, known := s.TimeToDrain(); !s.Stale || s.AgeKnown() || known {
				t.Errorf("%s: %+v seven seconds later", name, s)
			}
			read()
			if s := r.phone(); s.Stale || !s.AgeKnown() {
				t.Errorf("%s: %+v when it is read again", name, s)
			}
		})
	}
}
