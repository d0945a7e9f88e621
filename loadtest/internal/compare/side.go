package compare

import (
	"context"
	"fmt"
	"time"

	"sluice/loadtest/internal/collect"
)

// side is what one system made of one template in one round.
type side struct {
	system string
	round  int
	Sale
	given
}

// began is what there was before a crowd came.
type began struct {
	at       time.Time
	database collect.Activity
}

func (r *run) begin(ctx context.Context) (began, error) {
	database, err := r.Stores.Activity(ctx)
	return began{at: time.Now(), database: database}, err
}

// claimed holds what a crowd got out of Sluice against what it wanted.
func (r *run) claimed(s side) {
	if wanted := int64(min(s.Sale.Total, r.Claimers*min(s.Limit, r.Clicks))); s.Issued < wanted {
		r.rep.Fail("scenario", "round %d: %d coupons were issued of %s, %d claimers wanted %d", s.round+1, s.Issued, s.ID, r.Claimers, wanted)
	}
}

// took keeps what a crowd saw of a system and what Postgres says of it.
func (r *run) took(ctx context.Context, system string, round int, since began, t *tally, sides []side, f figures) error {
	var issued int64
	last := since.at
	for _, s := range sides {
		issued += s.Issued
		if s.Last.After(last) {
			last = s.Last
		}
		name := fmt.Sprintf("%s_%d", system, s.Sale.Total)
		f[name+"_issued"], f[name+"_doubles"], f[name+"_counted"] = float64(s.Issued), float64(s.Doubles), float64(s.Recorded)
	}
	r.sides = append(r.sides, sides...)
	written, err := r.Stores.Written(ctx, since.database.Rows, 2*issued, r.Patience)
	if err != nil {
		return err
	}
	f.wrote(system, written, last.Sub(since.at))
	t.p95s(f)
	f[system+"_requests"], f[system+"_timeouts"] = float64(t.requests), float64(t.late)
	for _, s := range sides {
		r.say("round %-2d  %-8s  %6d issued of %d, %d doubles", round+1, system, s.Issued, s.Sale.Total, s.Doubles)
	}
	r.say("round %-2d  %-8s  %.0f rows written, %.0f a second of giving out, p95 of a new coupon %.0f ms, answers %v", round+1, system, f[system+"_db_writes"], f[system+"_db_writes_per_s_of_giving_out"],
		f[system+"_"+newCoupon+"_p95_ms"], t.outcomes)
	if t.unanswered > 0 {
		r.rep.Fail("scenario", "round %d, %s: %d clicks were never answered, the first fault: %v", round+1, system, t.unanswered, t.fault)
	}
	return nil
}

// wrote takes the rows that a round took in all, and those by the time of giving out. The
// two end at different moments: what is written once the last coupon is there belongs to
// the round, and Postgres does not say when it was. So the rate is too high, never too low.
func (f figures) wrote(system string, rows int64, givingOut time.Duration) {
	seconds := max(0.001, givingOut.Seconds())
	f[system+"_db_writes"], f[system+"_giving_out_s"], f[system+"_db_writes_per_s_of_giving_out"] = float64(rows), seconds, float64(rows)/seconds
}
