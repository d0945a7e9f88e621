package funnel

import (
	"math"
	"sync"
	"time"
)

// gate is where the attempts of one sale take turns: at the flat rate of every sale,
// and at the rate of its share. The latter is kept as a moment, not as tokens, so that
// a debt is worth the same time when the share changes.
type gate struct {
	mu   sync.Mutex
	flat *limiter
	next time.Time // when the share's next turn is
}

// never is longer than anybody waits.
const never = time.Duration(math.MaxInt64)

// turn is how long the next turn of the share is away.
func (g *gate) turn(p *part, now time.Time) time.Duration {
	if p == nil {
		return never
	}
	return max(0, g.next.Sub(now))
}

// take takes the next turn. Turns that were not taken are kept for a tenth of a second.
func (g *gate) take(p *part, now time.Time) {
	every := seconds(1 / p.perSecond)
	if kept := now.Add(-every * time.Duration(burst(p.perSecond)-1)); g.next.Before(kept) {
		g.next = kept
	}
	g.next = g.next.Add(every)
}
