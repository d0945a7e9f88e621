package funnel

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// admission lets attempts through to the lines at a bounded rate: at a flat one of each
// sale, and at one in total, of which every sale has its share. Who would have to wait
// longer than wait is refused at once.
//
// An attempt goes by its sale's share first, and is then charged to the total whatever
// that has left; beyond the share it needs what others leave of the total. So a flood
// of one sale takes nothing from the share of another, and the whole if it is alone.
type admission struct {
	perSecond float64       // in total; 0 is unlimited
	wait      time.Duration // most that an attempt waits

	mu    sync.Mutex   // between looking at total and taking from it
	total *limiter     // may be in debt, by what went by the shares
	dry   atomic.Int64 // until when total has nothing within wait, unix nanoseconds
}

func newAdmission(c Config) *admission {
	return &admission{perSecond: c.AdmitRate, wait: c.AdmitWait, total: newLimiter(c.AdmitRate)}
}

// burst is what may go at once at so many a second: a tenth of a second's worth.
func burst(perSecond float64) int { return max(1, int(perSecond/10)) }

// limiter is one for which time does not run backwards: who read the clock and then waited
// for a lock would have it pay out the time since once more.
type limiter struct {
	*rate.Limiter
	last time.Time
}

// at is now, or the latest moment seen.
func (l *limiter) at(now time.Time) time.Time {
	if now.After(l.last) {
		l.last = now
	}
	return l.last
}

func (l *limiter) take(now time.Time) { l.ReserveN(l.at(now), 1) }

// newLimiter allows perSecond attempts; 0 is unlimited.
func newLimiter(perSecond float64) *limiter {
	if perSecond == 0 {
		return &limiter{Limiter: rate.NewLimiter(rate.Inf, 0)}
	}
	return &limiter{Limiter: rate.NewLimiter(rate.Limit(perSecond), burst(perSecond))}
}

// delay is how long the next attempt has to wait for l. It takes nothing: a limiter
// does not give back what others have reserved behind it, so a refusal must not
// have taken anything.
func delay(l *limiter, now time.Time) time.Duration {
	if l.Limit() == rate.Inf {
		return 0
	}
	return seconds(max(0, 1-l.TokensAt(l.at(now))) / float64(l.Limit()))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// admit is the layer that lets attempts through to the line for the script.
func (f *Funnel) admit(s *catalog.Sale, a *attempt) Result {
	f.exits.Enter(sale.LayerAdmission)
	l, now := f.line(s), time.Now()
	f.shares.touch(l, now)
	if !f.admission.turn(l, now) || !l.join(a) {
		return Result{Outcome: sale.Busy, Layer: sale.LayerAdmission}
	}
	return Result{}
}

// turn waits for the attempt's turn; false when its turn is too far away. A
// refused attempt takes nobody's place.
func (a *admission) turn(l *line, now time.Time) bool {
	wait, ok := a.reserve(l, now)
	if ok && wait > 0 {
		time.Sleep(wait)
	}
	return ok
}

// reserve takes a turn of l's sale. Only who may be let through meets the attempts of
// other sales.
func (a *admission) reserve(l *line, now time.Time) (wait time.Duration, ok bool) {
	g := &l.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	flat := delay(g.flat, now)
	if flat > a.wait {
		return 0, false
	}
	if wait, ok = a.pass(g, l.part.Load(), now); !ok {
		return 0, false
	}
	g.flat.take(now)
	return max(flat, wait), true
}

// pass goes by the share or by what others leave, whichever is sooner.
func (a *admission) pass(g *gate, p *part, now time.Time) (wait time.Duration, ok bool) {
	if a.perSecond == 0 {
		return 0, true
	}
	own := g.turn(p, now)
	if own > 0 {
		if wait, ok = a.leftOver(now, own); ok {
			return wait, true
		}
	}
	if own > a.wait {
		return 0, false
	}
	g.take(p, now)
	a.charge(now)
	return own, true
}

// leftOver takes from the total if it has something sooner than before.
func (a *admission) leftOver(now time.Time, before time.Duration) (wait time.Duration, ok bool) {
	if now.UnixNano() < a.dry.Load() {
		return 0, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	wait = delay(a.total, now)
	if wait > a.wait {
		a.dry.Store(now.Add(wait - a.wait).UnixNano())
		return 0, false
	}
	if wait >= before {
		return 0, false
	}
	a.total.take(now)
	return wait, true
}

func (a *admission) charge(now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.total.take(now)
}
