package chaos

import (
	"context"
	"net/http"
	"time"

	"sluice/loadtest/internal/history"
)

// refused has attempts meet a stream that takes nothing, from now until so many of them
// were answered, and returns how many had no certain answer. The round fails if one was
// answered 202.
func (r *Round) refused(ctx context.Context, n int64) (unknown int64, err error) {
	l, from := r.load, r.journal.Now()
	before, answered := l.unknown.Load(), l.unknown.Load()+l.accepted.Load()
	err = r.until(ctx, hitPatience, "attempts are answered", func() bool { return l.unknown.Load()+l.accepted.Load() >= answered+n })
	to := r.journal.Now()
	r.checks = append(r.checks, func(events []history.Event) { r.wantRefused(events, from, to) })
	return l.unknown.Load() - before, err
}

// wantRefused wants whoever attempted after one moment and was answered before another to
// have been answered 503 with the ticket: the unit is taken, and not handed over.
func (r *Round) wantRefused(events []history.Event, from, to time.Duration) {
	all := attemptsBetween(events, from, to)
	var silent, other, bare []history.Event
	for _, e := range all {
		switch {
		case e.Status == 0:
			silent = append(silent, e)
		case e.Status != http.StatusServiceUnavailable:
			other = append(other, e)
		case e.RID == "":
			bare = append(bare, e)
		}
	}
	if len(all) == 0 {
		r.fail("scenario", "nobody attempted while nothing could be handed over")
	}
	if len(silent) > 0 {
		r.fail("I12", "%d of %d attempts had no answer while nothing could be handed over, such as that of %s", len(silent), len(all), silent[0].User)
	}
	if len(other) > 0 {
		r.fail("I3", "%d of %d attempts were not refused while nothing could be handed over: %s was answered %d", len(other), len(all), other[0].User, other[0].Status)
	}
	if len(bare) > 0 {
		r.fail("I3", "%d of %d attempts were answered 503 without their tickets while nothing could be handed over, such as that of %s", len(bare), len(all), bare[0].User)
	}
}

// wantUnavailable wants whoever attempted after one moment and was answered before another to
// have been answered 503: nobody can know whether there is a unit.
func (r *Round) wantUnavailable(from, to time.Duration, while string) {
	r.checks = append(r.checks, func(events []history.Event) {
		all := attemptsBetween(events, from, to)
		var silent, other []history.Event
		for _, e := range all {
			switch e.Status {
			case http.StatusServiceUnavailable:
			case 0:
				silent = append(silent, e)
			default:
				other = append(other, e)
			}
		}
		r.hit(len(all)-len(silent)-len(other), "%d of %d attempts were answered 503 while %s", len(all)-len(silent)-len(other), len(all), while)
		if len(silent) > 0 {
			r.fail("I12", "%d of %d attempts had no answer while %s, such as that of %s", len(silent), len(all), while, silent[0].User)
		}
		if len(other) > 0 {
			r.fail("I9", "%d of %d attempts were not answered 503 while %s: %s was answered %d", len(other), len(all), while, other[0].User, other[0].Status)
		}
	})
}

// attemptsBetween are those that were made after one moment and answered before another.
func attemptsBetween(events []history.Event, from, to time.Duration) (all []history.Event) {
	for _, e := range events {
		if e.Kind == history.Attempt && e.Began >= from && e.Ended <= to {
			all = append(all, e)
		}
	}
	return all
}
