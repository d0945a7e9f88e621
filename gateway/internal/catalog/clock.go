package catalog

import (
	"sync"
	"sync/atomic"
	"time"
)

// clock relates this process's monotonic clock to Redis TIME.
type clock struct {
	local time.Time // middle of the round trip, with its monotonic reading
	redis time.Time // what Redis said then, in whole milliseconds
	doubt time.Duration
}

// staleClock is how long a reading with a short round trip beats a newer one with
// a longer: beyond it, drift matters more.
const staleClock = 10 * time.Second

func reading(redis, sent, received time.Time) clock {
	trip := received.Sub(sent)
	// Redis TIME is cut to milliseconds, hence the half.
	return clock{local: sent.Add(trip / 2), redis: redis.Add(500 * time.Microsecond), doubt: trip/2 + time.Millisecond}
}

// better picks the reading to trust from now on. Of two that cannot both be right the
// newer is: a clock was set, this process was suspended, or another server answers.
func (c clock) better(next clock) clock {
	newer := next.local.Sub(c.local)
	if apart := c.redis.Add(newer).Sub(next.redis).Abs(); newer > 0 && apart > c.doubt+next.doubt {
		return next
	}
	if next.doubt <= c.doubt || newer > staleClock {
		return next
	}
	return c
}

// at converts a moment of this process to Redis time, with the bound of its error.
func (c clock) at(now time.Time) (time.Time, time.Duration) {
	return c.redis.Add(now.Sub(c.local)), c.doubt
}

// timing is what the sales of a catalogue have in common: this process's clock, and the
// best that is known of how far it is from Redis's.
type timing struct {
	process func() time.Time
	mu      sync.Mutex // serialises writers of best
	best    atomic.Pointer[clock]
}

func (t *timing) learn(next clock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.best.Load(); old != nil {
		next = old.better(next)
	}
	t.best.Store(&next)
}

// at is Redis time at a moment of this process; the moment itself before the first
// reading.
func (t *timing) at(now time.Time) time.Time {
	best := t.best.Load()
	if best == nil {
		return now.UTC()
	}
	at, _ := best.at(now)
	return at
}
