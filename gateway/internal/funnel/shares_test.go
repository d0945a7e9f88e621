package funnel

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

var opening = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// crowd is a sale's traffic: attempts a second between from and to.
type crowd struct {
	weight    int
	perSecond float64
	from, to  time.Duration // zero to is the end
}

// gates are the sales of a funnel whose clock is the test's.
type gates struct {
	funnel *Funnel
	sales  *catalog.Catalog
	lines  []*line
}

func newGates(c Config, weights ...int) *gates {
	g := &gates{sales: catalog.New()}
	g.funnel = New(c, Parts{})
	for i, w := range weights {
		id := fmt.Sprint("sale-", i)
		g.sales.Apply(sale.Entry{Sale: sale.Sale{ID: id, Weight: w}, Epoch: 1, Rev: 1})
		g.lines = append(g.lines, g.funnel.line(g.sales.Find(id)))
	}
	return g
}

func (g *gates) attempt(i int, now time.Time) bool {
	g.funnel.shares.touch(g.lines[i], now)
	_, ok := g.funnel.admission.reserve(g.lines[i], now)
	return ok
}

// admitted plays the crowds and returns how many of each sale were let through a second
// between from and to.
func (g *gates) admitted(crowds []crowd, from, to time.Duration) []float64 {
	got := make([]float64, len(crowds))
	sent := make([]float64, len(crowds))
	for at := time.Duration(0); at < to; at += time.Millisecond {
		for i, c := range crowds {
			if at < c.from || c.to > 0 && at >= c.to {
				continue
			}
			for sent[i] += c.perSecond / 1000; sent[i] >= 1; sent[i]-- {
				if g.attempt(i, opening.Add(at)) && at >= from {
					got[i]++
				}
			}
		}
	}
	for i := range got {
		got[i] /= (to - from).Seconds()
	}
	return got
}

func TestAdmission_SharesTheTotalByWeight(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, tc := range map[string]struct {
		crowds   []crowd
		from, to time.Duration
		want     []float64 // let through a second, of 1000
	}{
		"alone it gets the whole":                {[]crowd{{1, 5_000, 0, 0}}, s, 10 * s, []float64{1000}},
		"less than there is":                     {[]crowd{{1, 300, 0, 0}, {1, 400, 0, 0}}, s, 10 * s, []float64{300, 400}},
		"a flood leaves a small sale alone":      {[]crowd{{1, 5_000, 0, 0}, {1, 50, 0, 0}}, s, 10 * s, []float64{950, 50}},
		"and one that comes later":               {[]crowd{{1, 5_000, 0, 0}, {1, 50, 5 * s, 0}}, 5 * s, 10 * s, []float64{950, 50}},
		"three to one":                           {[]crowd{{3, 3_000, 0, 0}, {1, 3_000, 0, 0}}, s, 10 * s, []float64{750, 250}},
		"one to a thousand":                      {[]crowd{{1000, 3_000, 0, 0}, {1, 3_000, 0, 0}}, s, 20 * s, []float64{999, 1}},
		"without a weight it is one":             {[]crowd{{0, 3_000, 0, 0}, {1, 3_000, 0, 0}}, s, 10 * s, []float64{500, 500}},
		"what one does not use is for all":       {[]crowd{{2, 3_000, 0, 0}, {1, 3_000, 0, 0}, {1, 50, 0, 0}}, s, 10 * s, []float64{-1, -1, 50}},
		"one that goes idle gives its share":     {[]crowd{{1, 3_000, 0, 0}, {9, 3_000, 0, 5 * s}}, 10 * s, 15 * s, []float64{1000, 0}},
		"even to one that was without turns":     {[]crowd{{1, 3_000, 0, 0}, {1000, 3_000, 5 * s, 10 * s}}, 6 * s, 10 * s, []float64{1, 999}},
		"many small ones beside a flood":         {append(manyCrowds(50, 10), crowd{1, 5_000, 0, 0}), s, 10 * s, append(manyRates(50, 10), 500)},
		"a share is kept for one that is silent": {[]crowd{{1, 3_000, 0, 0}, {9, 2, 0, 0}}, s, 11 * s, []float64{998, 2}},
	} {
		for _, wait := range []time.Duration{0, 200 * time.Millisecond} {
			weights := make([]int, len(tc.crowds))
			for i, c := range tc.crowds {
				weights[i] = c.weight
			}
			g := newGates(Config{AdmitRate: 1000, AdmitWait: wait, TotalLine: 100}, weights...)
			got := g.admitted(tc.crowds, tc.from, tc.to)
			sum, want := 0.0, 0.0
			for i := range got {
				sum += got[i]
				want += tc.want[i]
				if tc.want[i] >= 0 && math.Abs(got[i]-tc.want[i]) > max(2, 0.03*tc.want[i]) {
					t.Errorf("%s, waiting %v: sale %d of %v got %v a second, want %v", name, wait, i, len(got), got[i], tc.want[i])
				}
			}
			if sum > 1030 || sum < 970 && want > 970 {
				t.Errorf("%s, waiting %v: %v a second in all", name, wait, sum)
			}
		}
	}
}

func manyCrowds(n int, perSecond float64) []crowd {
	all := make([]crowd, n)
	for i := range all {
		all[i] = crowd{1, perSecond, 0, 0}
	}
	return all
}

func manyRates(n int, perSecond float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = perSecond
	}
	return all
}

func TestAdmission_HearsOfAnotherWeight(t *testing.T) {
	t.Parallel()
	g := newGates(Config{AdmitRate: 1000, TotalLine: 100}, 1, 1)
	crowds := []crowd{{1, 3_000, 0, 0}, {1, 3_000, 0, 0}}
	g.admitted(crowds, 0, time.Second)
	g.sales.Apply(sale.Entry{Sale: sale.Sale{ID: "sale-0", Weight: 4}, Epoch: 1, Rev: 2})
	if got := g.admitted(crowds, 3*time.Second, 10*time.Second); math.Abs(got[0]-800) > 24 || math.Abs(got[1]-200) > 24 {
		t.Errorf("let through %v a second, want 800 and 200", got)
	}
}

func TestAdmission_TheFlatRateHoldsWithinAShare(t *testing.T) {
	t.Parallel()
	g := newGates(Config{AdmitRate: 1000, AdmitSaleRate: 100, TotalLine: 100}, 1, 1)
	got := g.admitted([]crowd{{1, 3_000, 0, 0}, {1, 50, 0, 0}}, time.Second, 5*time.Second)
	if math.Abs(got[0]-100) > 5 || math.Abs(got[1]-50) > 2 {
		t.Errorf("let through %v a second, want 100 and 50", got)
	}
}

// fill joins sale i until its line is full, at most n times.
func (g *gates) fill(i, n int, now time.Time) (joined int) {
	g.funnel.shares.touch(g.lines[i], now)
	for joined < n && g.lines[i].join(&attempt{}) {
		joined++
	}
	return joined
}

// No call is ever made: every attempt stays in its line.
func lineOnly(total int) Config {
	return Config{LineLength: 1 << 20, TotalLine: total, BatchSize: 10, InFlight: math.MinInt32}
}

func TestLine_SharesItsPlacesByWeight(t *testing.T) {
	t.Parallel()
	g := newGates(lineOnly(1000), 3, 1, 1)
	if n := g.fill(0, 5000, opening); n != 1000 {
		t.Errorf("alone it has %d places", n)
	}
	if n := g.fill(1, 5000, opening); n != 0 {
		t.Errorf("%d beyond the total", n)
	}
	for g.lines[0].take() != nil {
	}
	if n := g.fill(0, 5000, opening); n != 750 {
		t.Errorf("beside another it has %d places", n)
	}
	if n := g.fill(1, 5000, opening); n != 250 {
		t.Errorf("the other has %d", n)
	}
	g.lines[1].take()
	if n := g.fill(0, 5000, opening); n != 0 {
		t.Errorf("%d took the places of the other", n)
	}
	for g.lines[1].take() != nil {
	}
	if n := g.fill(0, 5000, opening.Add(activeFor+time.Second)); n != 250 {
		t.Errorf("%d got the places of one that is idle", n)
	}
}

func TestLine_KeepsNoPlacesOfWhatIsForgotten(t *testing.T) {
	t.Parallel()
	g := newGates(lineOnly(100), 1, 1)
	g.fill(0, 10, opening)
	g.fill(1, 10, opening)
	for i := range g.lines {
		g.funnel.Forget(g.lines[i].sale)
		for g.lines[i].take() != nil { // who waited is served all the same
		}
	}
	if h := g.funnel.shares; h.kept.Load() != 0 || h.waiting.Load() != 0 {
		t.Errorf("%d places kept, %d waiting", h.kept.Load(), h.waiting.Load())
	}
	g.funnel.shares.each(func(l *line) { t.Errorf("line of %s is kept", l.sale.ID()) })
}

// Whatever the interleaving, no more wait than there are places, and none is lost.
func TestLine_CountsPlacesUnderAFlood(t *testing.T) {
	t.Parallel()
	const total = 64
	g := newGates(lineOnly(total), 5, 2, 1)
	var flood sync.WaitGroup
	for worker := range 12 {
		flood.Go(func() {
			for n := range 500 {
				g.fill(worker%3, 1+n%7, opening.Add(time.Duration(n)*10*time.Millisecond))
				if n%2 == 0 {
					g.lines[worker%3].take()
				}
			}
		})
	}
	flood.Wait()
	for _, l := range g.lines {
		for l.take() != nil {
		}
		l.resize(nil)
	}
	if h := g.funnel.shares; h.kept.Load() != 0 || h.waiting.Load() != 0 {
		t.Errorf("%d places kept, %d waiting", h.kept.Load(), h.waiting.Load())
	}
	if n := g.fill(0, 5000, opening.Add(time.Hour)); n != total {
		t.Errorf("%d places are left of %d", n, total)
	}
}

func TestAdmission_LetsItsRateThroughWhateverTheFlood(t *testing.T) {
	t.Parallel()
	const perSecond = 1000
	g := newGates(Config{AdmitRate: perSecond, AdmitSaleRate: perSecond, TotalLine: 100}, 1)
	var admitted atomic.Int64
	var flood sync.WaitGroup
	end := time.Now().Add(time.Second) // of real time: the fault needs refusals that overlap
	for range 64 {
		flood.Go(func() {
			for time.Now().Before(end) {
				if g.attempt(0, time.Now()) {
					admitted.Add(1)
				}
			}
		})
	}
	flood.Wait()
	if n := admitted.Load(); n < perSecond/3 || n > 2*perSecond {
		t.Errorf("%d admitted in a second at a rate of %d", n, perSecond)
	}
}

// Not parallel: AllocsPerRun counts the whole process.
func TestAdmission_ARefusalDoesNotAllocateNorMeetOtherSales(t *testing.T) {
	g := newGates(Config{AdmitRate: 10, TotalLine: 100}, 1, 1)
	g.admitted([]crowd{{1, 1000, 0, 0}, {1, 1000, 0, 0}}, 0, 100*time.Millisecond)
	now := opening.Add(100 * time.Millisecond)
	for g.attempt(0, now) || g.attempt(1, now) {
	}
	g.funnel.admission.mu.Lock() // a refusal that took it would hang
	defer g.funnel.admission.mu.Unlock()
	if n := testing.AllocsPerRun(1000, func() {
		g.funnel.shares.touch(g.funnel.line(g.lines[0].sale), now)
		if _, ok := g.funnel.admission.reserve(g.lines[0], now); ok {
			t.Fatal("admitted")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdmission_Refusal(b *testing.B) {
	g := newGates(Config{AdmitRate: 10, TotalLine: 100}, 1, 1)
	now := opening
	for g.attempt(0, now) || g.attempt(1, now) {
	}
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			g.attempt(0, now)
		}
	})
}

func TestAdmission_TimeIsNotPaidOutTwiceToWhoReadTheClockEarlier(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config Config
		want   int
	}{
		"of a sale": {Config{AdmitSaleRate: 100, TotalLine: 100}, 10},
		"in total":  {Config{AdmitRate: 100, TotalLine: 100}, 11}, // the last by the sale's share
	} {
		g, now, got := newGates(tc.config, 1), time.Now(), 0
		for i := range 30 {
			at := now
			if i == 9 { // waited for the lock
				at = now.Add(-100 * time.Millisecond)
			}
			if g.attempt(0, at) {
				got++
			}
		}
		if got != tc.want {
			t.Errorf("%s: %d let through at once, want %d", name, got, tc.want)
		}
	}
}
