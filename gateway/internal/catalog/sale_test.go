package catalog

import (
	"testing"
	"time"

	"sluice/shared/sale"
)

var start = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

func newTestSale(epoch, rev int64) (*Catalog, *Sale) {
	c := New()
	c.Apply(sale.Entry{Sale: sale.Sale{ID: "phone", OpensAt: at(time.Hour), ClosesAt: at(2 * time.Hour)}, Epoch: epoch, Rev: rev})
	return c, c.Find("phone")
}

func snapshot(epoch, version int64, now time.Time) sale.Snapshot {
	return sale.Snapshot{SaleID: "phone", Epoch: epoch, Version: version, OpensAt: at(time.Hour), ClosesAt: at(2 * time.Hour), Now: now, Stock: 5, Total: 5}
}

func (s *Sale) see(snap sale.Snapshot) { s.Observe(snap, snap.Now, snap.Now) }

func TestApply_OlderEntryNeverReplacesANewerOne(t *testing.T) {
	t.Parallel()
	c, s := newTestSale(2, 5)
	for _, e := range []sale.Entry{{Epoch: 1, Rev: 9}, {Epoch: 2, Rev: 4}} {
		e.ID = "phone"
		c.Apply(e)
	}
	if e := s.Entry(); e.Epoch != 2 || e.Rev != 5 {
		t.Errorf("entry is (%d, %d)", e.Epoch, e.Rev)
	}
}

func TestObserve_OlderSnapshotNeverReplacesANewerOne(t *testing.T) {
	t.Parallel()
	_, s := newTestSale(2, 1)
	newest := snapshot(2, 7, at(time.Minute))
	newest.SoldOut = true
	s.see(newest)
	for _, old := range []sale.Snapshot{snapshot(1, 99, at(2*time.Minute)), snapshot(2, 6, at(2*time.Minute))} {
		s.see(old)
		if got, _ := s.Snapshot(); !got.SoldOut {
			t.Errorf("(%d, %d) replaced (2, 7)", old.Epoch, old.Version)
		}
	}
	s.see(snapshot(2, 8, at(time.Minute)))
	if got, _ := s.Snapshot(); got.SoldOut {
		t.Error("a newer version did not clear the flag")
	}
}

func TestRefusal_ByState(t *testing.T) {
	t.Parallel()
	soldOut := func(s *sale.Snapshot) { s.SoldOut = true }
	paused := func(s *sale.Snapshot) { s.Paused = true }
	both := func(s *sale.Snapshot) { soldOut(s); paused(s) }
	none := func(*sale.Snapshot) {}
	for _, tc := range []struct {
		name    string
		change  func(*sale.Snapshot)
		now     time.Duration
		want    sale.Outcome
		refused bool
	}{
		{"open", none, 90 * time.Minute, sale.NoOutcome, false},
		{"sold out", soldOut, 90 * time.Minute, sale.SoldOut, true},
		{"paused comes before sold out", both, 90 * time.Minute, sale.Paused, true},
		{"not open", none, 30 * time.Minute, sale.NotOpen, true},
		{"sold out comes before not open", soldOut, 30 * time.Minute, sale.SoldOut, true},
		{"closed comes first", both, 3 * time.Hour, sale.OutOfWindow, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, s := newTestSale(1, 1)
			snap := snapshot(1, 1, at(tc.now))
			tc.change(&snap)
			s.see(snap)
			got, refused := s.Refusal(at(tc.now))
			if got != tc.want || refused != tc.refused {
				t.Errorf("got %v, %v", got, refused)
			}
		})
	}
}

func TestRefusal_NearABoundaryTheScriptDecides(t *testing.T) {
	t.Parallel()
	_, s := newTestSale(1, 1)
	// A round trip of 100 ms: the clock is known to within 51 ms.
	s.Observe(snapshot(1, 1, at(0)), at(-50*time.Millisecond), at(50*time.Millisecond))
	for _, tc := range []struct {
		now     time.Duration
		refused bool
	}{
		{time.Hour - 60*time.Millisecond, true},
		{time.Hour - 40*time.Millisecond, false},
		{time.Hour + 40*time.Millisecond, false},
		{2*time.Hour + 40*time.Millisecond, false},
		{2*time.Hour + 60*time.Millisecond, true},
	} {
		if _, refused := s.Refusal(at(tc.now)); refused != tc.refused {
			t.Errorf("at %v: refused %v", tc.now, refused)
		}
	}
}

func TestRefusal_FollowsRedisTimeNotThisClock(t *testing.T) {
	t.Parallel()
	_, s := newTestSale(1, 1)
	// This process's clock is five minutes behind Redis.
	s.Observe(snapshot(1, 1, at(time.Hour)), at(55*time.Minute), at(55*time.Minute))
	if o, refused := s.Refusal(at(56 * time.Minute)); refused {
		t.Errorf("refused as %v though Redis says it is open", o)
	}
}

func TestRefusal_ColdSaleIsUnavailable(t *testing.T) {
	t.Parallel()
	_, unseen := newTestSale(1, 1)
	c, rebuilt := newTestSale(1, 1)
	rebuilt.see(snapshot(1, 1, at(90*time.Minute)))
	c.Apply(sale.Entry{Sale: sale.Sale{ID: "phone"}, Epoch: 2, Rev: 1})
	_, stale := newTestSale(1, 1)
	stale.see(snapshot(1, 1, at(90*time.Minute)))
	stale.Disown(1)
	for name, s := range map[string]*Sale{"never seen": unseen, "newer epoch announced": rebuilt, "disowned by Redis": stale} {
		if o, refused := s.Refusal(at(90 * time.Minute)); !refused || o != sale.Unavailable {
			t.Errorf("%s: %v, %v", name, o, refused)
		}
	}
	stale.see(snapshot(1, 1, at(91*time.Minute)))
	if _, refused := stale.Refusal(at(91 * time.Minute)); refused {
		t.Error("still refused after Redis answered live again")
	}
}

func TestWarm_NamesTheSaleThatIsMissing(t *testing.T) {
	t.Parallel()
	c, s := newTestSale(1, 1)
	c.read(t.Context(), &redis{}, (*Sale).unread, discard)
	if err := c.Warm(at(0), 2*time.Hour); err == nil {
		t.Error("a sale that opens within the horizon is not loaded, and yet warm")
	}
	if err := c.Warm(at(0), time.Minute); err != nil {
		t.Errorf("a sale beyond the horizon: %v", err)
	}
	if err := c.Warm(at(3*time.Hour), 2*time.Hour); err != nil {
		t.Errorf("a sale that is over: %v", err)
	}
	s.see(snapshot(1, 1, at(0)))
	if err := c.Warm(at(0), 2*time.Hour); err != nil {
		t.Errorf("a loaded sale: %v", err)
	}
}

func TestProgress_NeverGoesBackWithinAnEpoch(t *testing.T) {
	t.Parallel()
	c, s := newTestSale(2, 1)
	tell := func(epoch, served int64) { c.Progress(sale.Progress{SaleID: "phone", Epoch: epoch, Served: served}) }
	tell(2, 10)
	passed := s.Passed()
	tell(2, 9)  // another worker, behind
	tell(1, 99) // late, of an older epoch
	if p, ok := s.Progress(); !ok || p.Served != 10 {
		t.Errorf("served %d, %v", p.Served, ok)
	}
	select {
	case <-passed:
		t.Error("no progress woke those who wait for some")
	default:
	}
	tell(2, 11)
	<-passed
}

// One worker's word counts though another has said that more is served.
func TestOutlook_HearsWorkersThatAreBehind(t *testing.T) {
	t.Parallel()
	_, s := newTestSale(2, 1)
	now := at(0)
	s.advance(sale.Progress{SaleID: "phone", Epoch: 2, Served: 10, Worker: "a", Pace: 100}, now)
	s.advance(sale.Progress{SaleID: "phone", Epoch: 2, Served: 9, Worker: "b", Pace: 50}, now)
	s.advance(sale.Progress{SaleID: "phone", Epoch: 1, Served: 99, Worker: "c", Pace: 1000}, now)
	if p, _ := s.Progress(); p.Served != 10 || s.Outlook().Pace(now) != 150 {
		t.Errorf("served %d, pace %v", p.Served, s.Outlook().Pace(now))
	}
	s.apply(sale.Entry{Sale: sale.Sale{ID: "phone"}, Epoch: 3, Rev: 1})
	if got := s.Outlook().Pace(now); got != 0 {
		t.Errorf("pace %v of the epoch before", got)
	}
}

// What waits is by the snapshot: without any, nothing is measured as a backlog.
func TestOutlook_MeasuresWhileSomethingWaits(t *testing.T) {
	t.Parallel()
	_, s := newTestSale(2, 1)
	snap := snapshot(2, 1, at(0))
	snap.Rank = 5000
	s.see(snap)
	served := func(second int) float64 {
		now := at(time.Duration(second) * time.Second)
		s.advance(sale.Progress{SaleID: "phone", Epoch: 2, Served: int64(100 * second), Worker: "a", Pace: 1000}, now)
		return s.Outlook().Pace(now)
	}
	if got := served(0); got != 500 {
		t.Errorf("pace %v before anything was measured", got)
	}
	for second := 1; second < 5; second++ {
		if got := served(second); got != 100 {
			t.Errorf("pace %v after %d s", got, second)
		}
	}
}
