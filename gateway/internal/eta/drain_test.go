package eta

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"time"

	"sluice/shared/sale"
)

var start = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

// phase is a pace that holds until served.
type phase struct {
	pace  float64 // orders a second, of all workers
	until int64   // served
}

// drain is a backlog that is served, as a gateway hears of it.
type drain struct {
	total    int64
	batch    int64
	workers  int
	telling  bool    // workers tell their pace
	fantasy  float64 // times as much as they keep up is what workers tell; 0 is 1
	phases   []phase
	stop     [2]time.Duration // nobody serves between, if they differ
	paused   bool             // that stop is the operators', and workers say so
	lost     time.Duration    // when the last worker is lost, unless zero
	finished []time.Duration  // when each rank had its outcome
}

const (
	tick   = 50 * time.Millisecond
	ofTurn = 120 * time.Millisecond // from the commit to the buyer

	ticksToTell = 5 // four times a second
	mostTicks   = int(time.Hour / tick)
)

// paceAt is the pace of one worker, while it lives.
func (d *drain) paceAt(at time.Duration, served int64) float64 {
	if at >= d.stop[0] && at < d.stop[1] {
		return 0
	}
	for _, p := range d.phases {
		if served < p.until {
			return p.pace / float64(d.workers)
		}
	}
	return 0
}

func (d *drain) living(at time.Duration) int {
	if d.lost > 0 && at >= d.lost {
		return d.workers - 1
	}
	return d.workers
}

// heard is what a gateway makes of it at one moment.
type heard struct {
	Outlook
	served int64
}

// run returns what was heard at every tick until all is served.
func (d *drain) run() []heard {
	var (
		e       Estimator
		served  int64
		permits float64
		last    heard
		all     []heard
	)
	d.finished = make([]time.Duration, d.total+1)
	d.idle(&e)
	for n := 0; served < d.total && n < mostTicks; n++ {
		at := time.Duration(n) * tick
		pace := d.paceAt(at, served)
		permits = min(permits+pace*float64(d.living(at))*tick.Seconds(), float64(2*d.batch))
		if next := served + d.batch*(int64(permits)/d.batch); next > served {
			next = min(next, d.total)
			permits -= float64(next - served)
			d.serve(at, served, next)
			served = next
		}
		for w := n % ticksToTell; w < d.living(at); w += ticksToTell {
			last = heard{e.Hear(start.Add(at), d.word(w, served, pace), d.total-served), served}
		}
		all = append(all, last)
	}
	return all
}

// idle has the workers told of for some seconds before there is anything to serve.
func (d *drain) idle(e *Estimator) {
	for second := range 5 {
		for w := range d.workers {
			e.Hear(start.Add(time.Duration(second-5)*time.Second), d.word(w, 0, d.paceAt(0, 0)), 0)
		}
	}
}

func (d *drain) serve(at time.Duration, from, to int64) {
	for rank := from + 1; rank <= to; rank++ {
		d.finished[rank] = at + ofTurn
	}
}

func (d *drain) word(worker int, served int64, pace float64) sale.Progress {
	p := sale.Progress{SaleID: "phone", Epoch: 1, Served: served}
	if d.telling {
		p.Worker, p.Pace = fmt.Sprint("worker-", worker), pace*max(1, d.fantasy)
	}
	return p
}

// tally of the polls of many tickets.
type tally struct {
	polls, within, unknown int
	pairs, jumps           int
	width                  float64 // sum of (high-low)/true wait, of waits beyond five seconds
	wide                   int
}

func (t *tally) String() string {
	return fmt.Sprintf("%d polls: %.1f %% within, %.1f %% unknown, %.1f %% of %d jumped, width %.1f of the wait",
		t.polls, 100*float64(t.within)/float64(t.polls), 100*float64(t.unknown)/float64(t.polls),
		100*float64(t.jumps)/float64(max(1, t.pairs)), t.pairs, t.width/float64(max(1, t.wide)))
}

// poll follows a ticket from a moment on, as the reference client does: by polling as
// told, or by being told when those ahead have about halved.
func (d *drain) poll(all []heard, rank int64, at time.Duration, polling bool, rng *rand.Rand, t *tally) {
	before := 0.0
	for at < d.finished[rank] && int(at/tick) < len(all) {
		h, now := all[at/tick], start.Add(at)
		ahead := max(0, rank-1-h.served)
		low, high, ok := h.Range(now, ahead)
		before = t.add(low, high, ok, (d.finished[rank] - at).Seconds(), before)
		if polling {
			at += pollAfter(ahead, h.Pace(now), rng)
		} else {
			at = max(at+200*time.Millisecond, halved(all, rank, at))
		}
	}
}

// halved is when the bucket of those ahead is next another, 25 s later at the latest.
func halved(all []heard, rank int64, at time.Duration) time.Duration {
	bucket := func(i int) int { return bits.Len64(uint64(max(0, rank-1-all[i].served))) }
	first := int(at / tick)
	for i := first; i < len(all) && i-first < int(25*time.Second/tick); i++ {
		if bucket(i) != bucket(first) {
			return time.Duration(i) * tick
		}
	}
	return at + 25*time.Second
}

// add takes in a poll, left seconds before the outcome, and returns its midpoint.
func (t *tally) add(low, high float64, ok bool, left, before float64) float64 {
	t.polls++
	if !ok {
		t.unknown++
		return 0
	}
	if low <= left && left <= high {
		t.within++
	}
	if left > 5 {
		t.width += (high - low) / left
		t.wide++
	}
	middle := (low + high) / 2
	if before > 0 {
		t.pairs++
		if middle > 1.2*before {
			t.jumps++
		}
	}
	return middle
}

func pollAfter(ahead int64, pace float64, rng *rand.Rand) time.Duration {
	wait := 10 * time.Second
	if pace > 0 {
		wait = min(wait, max(time.Second/2, time.Duration(float64(ahead)/pace/2*float64(time.Second))))
	}
	return wait + time.Duration(rng.Float64()*float64(wait)/4)
}

// judge polls tickets of many ranks.
func (d *drain) judge(polling bool) *tally {
	all := d.run()
	rng := rand.New(rand.NewPCG(1, 2))
	var t tally
	for rank := int64(1); rank <= d.total; rank += max(1, d.total/400) {
		d.poll(all, rank, time.Duration(rng.Float64()*float64(500*time.Millisecond)), polling, rng, &t)
	}
	return &t
}
