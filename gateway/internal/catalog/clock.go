package catalog

import "time"

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

// better picks the reading to trust from now on.
func (c clock) better(next clock) clock {
	if next.doubt <= c.doubt || next.local.Sub(c.local) > staleClock {
		return next
	}
	return c
}

// at converts a moment of this process to Redis time, with the bound of its error.
func (c clock) at(now time.Time) (time.Time, time.Duration) {
	return c.redis.Add(now.Sub(c.local)), c.doubt
}
