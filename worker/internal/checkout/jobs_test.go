package checkout

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// dueCoupons are so many coupons that are due.
type dueCoupons struct {
	lapsing, expiring int
	broken            error // of lapsing
	calls             int
}

func (d *dueCoupons) LapseLocks(ctx context.Context, limit int) (int, error) {
	if d.broken != nil {
		return 0, d.broken
	}
	return d.take(ctx, &d.lapsing, limit)
}

func (d *dueCoupons) ExpireCoupons(ctx context.Context, limit int) (int, error) {
	return d.take(ctx, &d.expiring, limit)
}

func (d *dueCoupons) take(ctx context.Context, left *int, limit int) (int, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return 0, errors.New("called without a deadline")
	}
	d.calls++
	n := min(*left, limit)
	*left -= n
	return n, nil
}

func (m *Metrics) count(event string) float64 {
	return testutil.ToFloat64(m.coupons.WithLabelValues(event))
}

func newJobs(d due, hit func(string) error) (*Jobs, *Metrics) {
	m := NewMetrics(prometheus.NewRegistry())
	return NewJobs(d, hit, m, slog.New(slog.DiscardHandler)), m
}

func never(string) error { return nil }

func TestJobs_MoveAllThatIsDueInPages(t *testing.T) {
	t.Parallel()
	d := &dueCoupons{lapsing: 2*page + 1, expiring: 3}
	j, m := newJobs(d, never)
	if err := j.scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.lapsing != 0 || d.expiring != 0 || d.calls != 4 {
		t.Errorf("%d and %d are left after %d calls", d.lapsing, d.expiring, d.calls)
	}
	if m.count("lapse") != 2*page+1 || m.count("expire") != 3 {
		t.Errorf("counted %v and %v", m.count("lapse"), m.count("expire"))
	}
}

func TestJobs_AFloodOfOneDoesNotKeepTheOther(t *testing.T) {
	t.Parallel()
	d := &dueCoupons{lapsing: (mostRun + 1) * page, expiring: 3}
	j, _ := newJobs(d, never)
	if err := j.scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.lapsing != page || d.expiring != 0 {
		t.Errorf("%d and %d are left, want a page of the first", d.lapsing, d.expiring)
	}
}

func TestJobs_AFaultOfOneDoesNotKeepTheOther(t *testing.T) {
	t.Parallel()
	d := &dueCoupons{broken: errors.New("broken"), expiring: 3}
	j, _ := newJobs(d, never)
	if err := j.scan(t.Context()); !errors.Is(err, d.broken) {
		t.Errorf("error = %v", err)
	}
	if d.expiring != 0 {
		t.Errorf("%d are left to expire", d.expiring)
	}
}

func TestJobs_RunOnceASecondUntilTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dueCoupons{}
		j, _ := newJobs(d, never)
		ctx, end := context.WithTimeout(t.Context(), 3*every+time.Millisecond)
		defer end()
		j.Run(ctx)
		if d.calls != 2*4 {
			t.Errorf("%d calls in 3 s", d.calls)
		}
	})
}
