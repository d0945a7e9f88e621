package catalog

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/shared/sale"
)

// redisAt answers TIME; asking takes a while by the clock of the test.
type redisAt struct {
	at  time.Time
	err error
}

func (r redisAt) Time(context.Context) (time.Time, error) { return r.at, r.err }

func TestNow_IsThatOfRedisFromTheFirstMeasurement(t *testing.T) {
	t.Parallel()
	local := at(5 * time.Minute)
	c := NewAt(func() time.Time { return local })
	if got := c.Now(c.Clock()); !got.Equal(local) {
		t.Errorf("%v before anything was measured", got)
	}
	if err := c.Measure(t.Context(), redisAt{err: errors.New("gone")}); err == nil {
		t.Error("Redis does not answer, and yet it is measured")
	}
	if err := c.Measure(t.Context(), redisAt{at: at(0)}); err != nil {
		t.Fatal(err)
	}
	local = at(7 * time.Minute)
	if off := c.Now(c.Clock()).Sub(at(2 * time.Minute)).Abs(); off > time.Millisecond {
		t.Errorf("off by %v", off)
	}
}

func TestNow_OfASaleNeverReadIsThatOfTheCatalogue(t *testing.T) {
	t.Parallel()
	c, s := newTestSale(1, 1)
	c.Apply(sale.Entry{Sale: sale.Sale{ID: "tablet"}, Epoch: 1, Rev: 1})
	c.Find("tablet").Observe(snapshot(1, 1, at(0)), at(5*time.Minute), at(5*time.Minute))
	for name, got := range map[string]time.Time{"sale": s.Now(at(6 * time.Minute)), "catalogue": c.Now(at(6 * time.Minute))} {
		if off := got.Sub(at(time.Minute)).Abs(); off > time.Millisecond {
			t.Errorf("%s: off by %v", name, off)
		}
	}
}

func TestClock_BestReadingStaysUnlessItIsRefuted(t *testing.T) {
	t.Parallel()
	reads := func(redis, sent time.Duration, trip time.Duration) clock {
		return reading(at(redis), at(sent), at(sent+trip))
	}
	good := reads(0, time.Minute, 2*time.Millisecond)
	for name, tc := range map[string]struct {
		next clock
		kept bool
	}{
		"longer trip, agrees":          {reads(time.Second, 61*time.Second, 40*time.Millisecond), true},
		"shorter trip":                 {reads(time.Second, 61*time.Second, time.Millisecond), false},
		"longer trip, much later":      {reads(11*time.Second, 71*time.Second, 40*time.Millisecond), false},
		"another time, much later":     {reads(time.Hour, 71*time.Second, 40*time.Millisecond), false},
		"another time, soon":           {reads(2*time.Second, 61*time.Second, 40*time.Millisecond), false},
		"another time, from before":    {reads(time.Second, 59*time.Second, 40*time.Millisecond), true},
		"within what neither excludes": {reads(time.Second+20*time.Millisecond, 61*time.Second, 40*time.Millisecond), true},
	} {
		if kept := good.better(tc.next) == good; kept != tc.kept {
			t.Errorf("%s: kept %v", name, kept)
		}
	}
}
