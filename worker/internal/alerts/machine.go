package alerts

import (
	"time"

	"sluice/shared/sale"
)

// condition is what a look says about one alert.
type condition struct {
	sale.AlertKey
	bad     bool          // it should fire
	good    bool          // it may end; what is neither changes nothing
	held    time.Duration // for how long it is known to have been bad
	value   float64
	summary string
}

// patience is for how long a condition must hold.
type patience struct {
	before time.Duration // until it fires
	after  time.Duration // until it is over
}

// next moves an alert on. One that is in no state has none: it is not kept.
func next(a sale.Alert, c condition, p patience, now time.Time) sale.Alert {
	switch a.State {
	case sale.AlertFiring:
		return whileFiring(a, c, p.after, now)
	case sale.AlertPending:
		if !c.bad {
			return notAfterAll(a)
		}
	default:
		if !c.bad {
			return a
		}
		a.State, a.Since = sale.AlertPending, now.Add(-c.held)
	}
	a.Value, a.Summary = c.value, c.summary
	if now.Sub(a.Since) >= p.before {
		a.State, a.FiredAt, a.ClearSince = sale.AlertFiring, now, time.Time{}
	}
	return a
}

// notAfterAll is what a pending alert was before.
func notAfterAll(a sale.Alert) sale.Alert {
	a.State = ""
	if !a.ResolvedAt.IsZero() {
		a.State = sale.AlertResolved
	}
	return a
}

func whileFiring(a sale.Alert, c condition, after time.Duration, now time.Time) sale.Alert {
	if c.bad || c.good {
		a.Value = c.value
	}
	if c.bad {
		a.Summary = c.summary
	}
	if !c.good {
		a.ClearSince = time.Time{}
		return a
	}
	if a.ClearSince.IsZero() {
		a.ClearSince = now
	}
	if now.Sub(a.ClearSince) >= after {
		a.State, a.ResolvedAt = sale.AlertResolved, now
	}
	return a
}

// untold is what the receiver still has to hear of an alert, "" for nothing. One that is
// pending again was resolved before.
func untold(a sale.Alert) sale.AlertState {
	state := a.State
	if state == sale.AlertPending {
		state = ""
		if !a.ResolvedAt.IsZero() {
			state = sale.AlertResolved
		}
	}
	if state == a.Told {
		return ""
	}
	return state
}

// How long what is over is kept.
const (
	shownFor = time.Hour      // also told by the admin API
	triedFor = 24 * time.Hour // while the receiver has not acknowledged the end
)

// forgotten says that an alert's row can go.
func forgotten(a sale.Alert, now time.Time) bool {
	switch {
	case a.State == "":
		return true
	case a.State != sale.AlertResolved:
		return false
	}
	past := now.Sub(a.ResolvedAt)
	return past > triedFor || past > shownFor && a.Told == sale.AlertResolved
}

// merged is what holds of an alert that is in Postgres and that this worker has gone on
// with alone meanwhile: the newer of the two, and never a pending one in place of what
// was told.
func merged(row, own sale.Alert) sale.Alert {
	switch {
	case row.State == "":
		return own
	case own.State == sale.AlertFiring && row.State == sale.AlertFiring:
		if row.Told == "" || own.Told == sale.AlertFiring {
			row.Told = own.Told
		}
		return row
	case own.State == "" || own.State == sale.AlertPending || !changed(own).After(changed(row)):
		return row
	default:
		return own
	}
}

// changed is when an alert fired or ended last.
func changed(a sale.Alert) time.Time {
	if a.FiredAt.After(a.ResolvedAt) {
		return a.FiredAt
	}
	return a.ResolvedAt
}
