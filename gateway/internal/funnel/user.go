package funnel

import (
	"time"

	"sluice/shared/sale"
)

// UserLimit bounds what one buyer may attempt, from however many addresses. The nil
// limit lets everybody through.
type UserLimit struct{ *limit[string] }

// NewUserLimit builds the limit; nil when it is off. The configuration must have
// passed Check.
func NewUserLimit(c LimitConfig) (*UserLimit, error) {
	l, err := newLimit[string](c)
	if l == nil {
		return nil, err
	}
	return &UserLimit{l}, nil
}

// Allow takes one attempt out of the user's bucket; if it is empty, retry is how
// long until it is not.
func (l *UserLimit) Allow(userID string, now time.Time) (retry time.Duration, ok bool) {
	if l == nil {
		return 0, true
	}
	return l.allow(userID, now)
}

// bound is the layer that bounds what one buyer attempts.
func (f *Funnel) bound(userID string, now time.Time) Result {
	f.exits.Enter(sale.LayerUser)
	if retry, ok := f.users.Allow(userID, now); !ok {
		return Result{Outcome: sale.TooMany, Layer: sale.LayerUser, RetryAfter: retry}
	}
	return Result{}
}
