package eta

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"sluice/shared/sale"
)

// changing is a drain of 20,000 at so many times 1,000 a second, each for an equal part.
func changing(factors ...float64) drain {
	d := drain{total: 20_000, workers: 2, telling: true}
	for i, f := range factors {
		d.phases = append(d.phases, phase{1000 * f, d.total * int64(i+1) / int64(len(factors))})
	}
	return d
}

func with(d drain, change func(*drain)) drain {
	change(&d)
	return d
}

// The true wait lies in the range in most polls, whatever becomes of the pace, and what
// a buyer was told seldom leaps.
func TestRange_HoldsThroughDrainsWhosePaceChanges(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		drain drain
		width float64 // the most, of the true wait, on average
	}{
		"steady":     {changing(1), 4.5},
		"halved":     {changing(1, .5, 1), 4.5},
		"doubled":    {changing(.5, 1, .5), 3.5},
		"quartered":  {changing(1, .25, 1), 4.5},
		"quadrupled": {changing(.25, 1, .25), 3.5},
		"falling":    {changing(1, .5, .25), 4.5},
		"rising":     {changing(.25, .5, 1), 3.5},
		"thrice":     {changing(1, .5, 1, .5), 4.5},
		"finding its pace": {with(changing(1), func(d *drain) {
			d.phases = append([]phase{{100, 100}, {200, 300}, {400, 700}, {800, 1500}}, d.phases...)
		}), 15},
		"a worker stops": {with(changing(1), func(d *drain) { d.workers, d.lost = 3, 5*time.Second }), 4.5},
		"a fantasy":      {with(changing(1), func(d *drain) { d.fantasy = 100 }), 6},
		"pace untold":    {with(changing(1, .5, 1), func(d *drain) { d.telling = false }), 4.5},
	} {
		for _, batch := range []int64{20, 500} {
			for _, polling := range []bool{true, false} {
				t.Run(fmt.Sprint(name, ", batches of ", batch, ", polling ", polling), func(t *testing.T) {
					t.Parallel()
					d := tc.drain
					d.batch = batch
					got := d.judge(polling)
					t.Log(got)
					told := got.polls - got.unknown
					if got.within*100 < 90*told || got.jumps*100 >= 5*got.pairs || got.width > tc.width*float64(got.wide) {
						t.Error(got)
					}
					if d.telling && got.unknown > 0 {
						t.Errorf("%d polls of a sale whose pace is told were not told when", got.unknown)
					}
				})
			}
		}
	}
}

func TestRange_UnknownWhileThePaceIsPausedAndBackAtOnce(t *testing.T) {
	t.Parallel()
	d := with(changing(1), func(d *drain) {
		d.batch, d.stop, d.paused = 100, [2]time.Duration{5 * time.Second, 35 * time.Second}, true
	})
	all := d.run()
	for at, want := range map[time.Duration]bool{4 * time.Second: true, 9 * time.Second: false, 34 * time.Second: false, 36 * time.Second: true} {
		h := all[at/tick]
		low, high, ok := h.Range(start.Add(at), 5000)
		if ok != want || ok && (low > 5 || high < 5 || high > 20) {
			t.Errorf("after %v: %v to %v, %v", at, low, high, ok)
		}
	}
}

// Whatever was heard, nobody is promised an end before the pace of now could reach it,
// nor a beginning that the best pace could not.
func TestRange_NeverPromisesWhatThePaceDoesNotSupport(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	var e Estimator
	now, served := start, int64(0)
	for range 20_000 {
		now = now.Add(time.Duration(rng.IntN(400)) * time.Millisecond)
		served += int64(rng.IntN(500))
		p := sale.Progress{Epoch: 1, Served: served, Worker: fmt.Sprint(rng.IntN(3)), Pace: rng.Float64() * 1000}
		o := e.Hear(now, p, 10_000)
		ahead := rng.Int64N(100_000)
		low, high, ok := o.Range(now, ahead)
		if !ok {
			continue
		}
		together := e.workers.pace(now)
		if high < float64(ahead)/together || low > high || low < 0 {
			t.Fatalf("%d ahead at a pace of %v: %v to %v", ahead, together, low, high)
		}
		if best := soonest(float64(ahead)/max(o.best, together), doubling); low < best-o.batch/o.usual[slackScale]-1 {
			t.Fatalf("%d ahead at a best pace of %v: %v to %v", ahead, o.best, low, high)
		}
	}
}

func TestRange_OfTheNextIsAMomentNotNothing(t *testing.T) {
	t.Parallel()
	var e Estimator
	o := e.Hear(start, sale.Progress{Epoch: 1, Worker: "a", Pace: 1000}, 1)
	low, high, ok := o.Range(start, 0)
	if !ok || low != 0 || high < 0.5 || high > 2 {
		t.Errorf("%v to %v, %v", low, high, ok)
	}
}

func TestHear_UnknownWithoutAnythingToGoBy(t *testing.T) {
	t.Parallel()
	busy := func(seconds int, p sale.Progress, perSecond int64) (o Outlook, now time.Time) {
		var e Estimator
		now = start
		for range 4 * seconds {
			o = e.Hear(now, p, 5000)
			now = now.Add(250 * time.Millisecond)
			p.Served += perSecond / 4
		}
		return o, now
	}
	for name, tc := range map[string]struct {
		word    sale.Progress
		seconds int
		rate    int64
		later   time.Duration
		known   bool
	}{
		"served, no pace told":              {sale.Progress{}, 5, 100, 0, true},
		"not yet measured, but by a worker": {sale.Progress{RatePerSecond: 80}, 1, 100, 0, true},
		"not yet measured":                  {sale.Progress{}, 1, 100, 0, false},
		"nothing served, no pace":           {sale.Progress{}, 20, 0, 0, false},
		"nothing served yet at its pace":    {sale.Progress{Worker: "a", Pace: 100}, 5, 0, 0, true},
		"nothing served for long":           {sale.Progress{Worker: "a", Pace: 100}, 15, 0, 0, false},
		"nor at a pace never kept":          {sale.Progress{Worker: "a", Pace: 100_000}, 15, 0, 0, false},
		"paused":                            {sale.Progress{Worker: "a", RatePerSecond: 80}, 1, 0, 0, false},
		"paused, and what has begun ends":   {sale.Progress{Worker: "a", RatePerSecond: 80}, 5, 100, 0, false},
		"silent":                            {sale.Progress{Worker: "a", Pace: 100}, 5, 100, 4 * time.Second, false},
		"nothing":                           {sale.Progress{}, 0, 0, 0, false},
	} {
		tc.word.Epoch = 1
		o, now := busy(tc.seconds, tc.word, tc.rate)
		if _, _, ok := o.Range(now.Add(tc.later), 1000); ok != tc.known {
			t.Errorf("%s: known %v", name, ok)
		}
	}
}

// Workers come and go: paces add up, and those of who is silent are forgotten.
func TestHear_AddsUpThePacesOfWorkersThatAreThere(t *testing.T) {
	t.Parallel()
	var e Estimator
	tell := func(at time.Duration, worker string, pace float64) float64 {
		return e.Hear(start.Add(at), sale.Progress{Epoch: 1, Worker: worker, Pace: pace}, 0).Pace(start.Add(at))
	}
	for _, step := range []struct {
		at     time.Duration
		worker string
		pace   float64
		want   float64
	}{
		{0, "a", 100, 100},
		{time.Second, "b", 50, 150},
		{2 * time.Second, "a", 70, 120},
		{4500 * time.Millisecond, "a", 70, 70}, // b is silent
		{5 * time.Second, "b", 50, 120},
		{6 * time.Second, "a", 0, 50},
	} {
		if got := tell(step.at, step.worker, step.pace); got != step.want {
			t.Errorf("after %v: %v, want %v", step.at, got, step.want)
		}
	}
}

// Of a single reservation that has no outcome nobody says forever that it comes at once.
func TestRange_UnknownOnceNoTurnComes(t *testing.T) {
	t.Parallel()
	var e Estimator
	known := func(second int, served, waiting, ahead int64) bool {
		now := start.Add(time.Duration(second) * time.Second)
		_, _, ok := e.Hear(now, sale.Progress{Epoch: 1, Worker: "a", Pace: 1000, Served: served}, waiting).Range(now, ahead)
		return ok
	}
	for second := range 30 {
		if ok := known(second, 9, 1, 0); ok != (second <= 10) {
			t.Errorf("alone, after %d s: known %v", second, ok)
		}
	}
	for second := 30; second < 60; second++ { // others are served, behind it
		over := int64(second-29) * 100
		if known(second, 9+over, 1, -over) != (over <= 500) {
			t.Errorf("overtaken by %d where 500 a second are believed: known %v", over, over > 500)
		}
	}
}

// What idle workers allow may be more than any backlog: theirs is measured all the same.
func TestHear_MeasuresABacklogThatIsSmallBesideThePaceThatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []int64{100, 0} {
		var e Estimator
		for n := range 24 {
			now := start.Add(time.Duration(n) * 250 * time.Millisecond)
			p := sale.Progress{Epoch: 1, Served: perSecond * int64(n) / 4, Worker: "a", Pace: 100_000}
			if got := e.Hear(now, p, 4000).Pace(now); n >= 20 && got > 110 {
				t.Errorf("%d a second are served, after %v the pace is %v", perSecond, now.Sub(start), got)
			}
		}
	}
}

// A trickle says nothing about how fast a crowd would be served.
func TestHear_ATrickleDoesNotLowerThePace(t *testing.T) {
	t.Parallel()
	var e Estimator
	p := sale.Progress{Epoch: 1, Worker: "a", Pace: 400}
	for n := range 100 {
		now := start.Add(time.Duration(n) * 250 * time.Millisecond)
		p.Served += 5
		if got := e.Hear(now, p, 3).Pace(now); got != 400 {
			t.Fatalf("pace %v", got)
		}
	}
}

// However many workers tell, what is remembered spans the time that it takes to measure.
func TestHear_MeasuresWhatManyWorkersTell(t *testing.T) {
	t.Parallel()
	var e Estimator
	for n := range 400 {
		now := start.Add(time.Duration(n) * 10 * time.Millisecond)
		p := sale.Progress{Epoch: 1, Served: int64(10 * n), Worker: fmt.Sprint(n % 25), Pace: 100}
		if got := e.Hear(now, p, 50_000).Pace(now); n > 150 && (got < 950 || got > 1050) {
			t.Fatalf("pace %v after %v", got, now.Sub(start))
		}
	}
}

func TestHear_ANewEpochBeginsAnew(t *testing.T) {
	t.Parallel()
	var e Estimator
	for n := range 20 {
		e.Hear(start.Add(time.Duration(n)*time.Second), sale.Progress{Epoch: 1, Served: int64(n) * 1000}, 5000)
	}
	if o := e.Hear(start.Add(20*time.Second), sale.Progress{Epoch: 2}, 5000); o.Pace(start.Add(20*time.Second)) != 0 {
		t.Errorf("pace %v of the epoch before", o.pace)
	}
}

// Not parallel: AllocsPerRun counts the whole process.
func TestHear_IsBoundedAndDoesNotAllocate(t *testing.T) {
	var e Estimator
	p := sale.Progress{Epoch: 1, Pace: 10}
	for n := range 10_000 {
		p.Worker = fmt.Sprint("worker-", n)
		e.Hear(start, p, 5000)
	}
	if len(e.workers.told) != mostWorkers {
		t.Errorf("%d workers are remembered", len(e.workers.told))
	}
	now := start
	if n := testing.AllocsPerRun(1000, func() {
		now = now.Add(250 * time.Millisecond)
		p.Served += 50
		e.Hear(now, p, 5000)
	}); n != 0 {
		t.Errorf("%v allocations a word", n)
	}
}
