package console

import (
	"errors"
	"math"
	"time"

	"sluice/shared/backlog"
	"sluice/shared/sale"
)

// What Redis has of a sale, in one word.
const (
	redisNone        = "none" // it was never loaded
	redisLive        = "live"
	redisStale       = "stale" // not at the epoch that Postgres has
	redisUnreachable = "unreachable"
)

// tracked is a sale as it was last read.
type tracked struct {
	standing sale.Standing
	snap     sale.Snapshot
	handOff  sale.HandOff
	redis    string
	readAt   time.Time // when Redis last answered; zero for never
	served   backlog.Meter
	taken    backlog.Meter
	settling float64 // a second; negative when not known
	taking   float64
	history  *series
	encoded  string // as pages were last told
}

// read takes what Redis said of the sale.
func (t *tracked) read(now time.Time, s sale.Snapshot, h sale.HandOff, err error) {
	switch {
	case errors.Is(err, sale.ErrStale):
		t.redis = redisStale
	case err != nil:
		t.redis = redisUnreachable
	default:
		t.redis, t.snap, t.handOff, t.readAt = redisLive, s, h, now
		t.settling = rateOf(t.served.Add(now, s.Epoch, s.Served))
		t.taking = rateOf(t.taken.Add(now, s.Epoch, s.Rank))
	}
}

func rateOf(perSecond float64, measured bool) float64 {
	if !measured {
		return unknown
	}
	return perSecond
}

// body is the sale as it is shown. The backlog is nil where nobody watches it: what waits
// is reckoned from Redis then, but not since when.
func (t *tracked) body(now time.Time, b *Backlog) saleBody {
	st, clock := t.standing, t.snap
	if t.redis != redisLive {
		clock.Now = time.Time{} // it stood still since
	}
	body := saleBody{
		ID: st.ID, Title: st.Title, Kind: string(st.Kind), State: st.Describe(clock, now), Weight: st.Weight,
		OpensAt: st.OpensAt.UnixMilli(), ClosesAt: st.ClosesAt.UnixMilli(), Epoch: st.Epoch,
		Total: st.Total, Held: st.Held, Paused: st.Paused, Rebuilding: st.Rebuilding,
		Unapplied: st.Unapplied, Adjusting: st.Adjusting, RedisState: t.redis,
	}
	if !t.readAt.IsZero() {
		body.Redis = &redisBody{
			SoldOut: t.snap.SoldOut, Total: t.snap.Total, Stock: t.snap.Stock, Rank: t.snap.Rank, Accepted: t.snap.Accepted, Served: t.snap.Served,
			Unpaid: t.snap.Unpaid, Given: t.snap.Given, HandOff: t.handOff.Count, Version: t.snap.Version,
		}
		waiting := max(0, t.snap.Rank-t.snap.Served)
		body.Waiting, body.AgeKnown = &waiting, waiting == 0 && t.redis == redisLive
		body.Accepting, body.Draining = tenths(t.taking), tenths(t.settling)
		if t.redis != redisLive {
			body.RedisSince = moment(t.readAt)
		}
	}
	if b != nil && b.Known {
		body.Waiting, body.Oldest, body.AgeKnown, body.Draining = &b.Waiting, moment(b.Oldest), b.Waiting == 0 && !b.Stale || !b.Oldest.IsZero(), tenths(b.DrainRate)
	}
	return body
}

// tenths rounds what is shown of a rate; nil when it is not known.
func tenths(v float64) *float64 {
	if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	v = math.Round(v*10) / 10
	return &v
}

// pointOf is a moment of the sale for its charts.
func pointOf(now time.Time, b saleBody) point {
	p := point{at: now.UnixMilli(), age: unknown, waiting: unknown, accepting: unknown, settle: unknown, pace: unknown, p90: unknown, target: unknown}
	switch {
	case b.Oldest != nil:
		p.age = age(now, *b.Oldest)
	case b.AgeKnown:
		p.age = 0
	}
	if b.Waiting != nil {
		p.waiting = float32(*b.Waiting)
	}
	if b.Accepting != nil {
		p.accepting = float32(*b.Accepting)
	}
	if b.Draining != nil {
		p.settle = float32(*b.Draining)
	}
	return p
}

// age is in seconds.
func age(now time.Time, since int64) float32 { return max(0, float32(now.UnixMilli()-since)/1000) }
