package fulfil

import (
	"maps"
	"slices"
	"time"
)

const (
	unknownFor  = time.Minute // after which Redis is asked again
	unknownMost = 4096
)

// unknown remembers the reservations that Redis has no ticket of: only a rebuild can
// bring them back, and until then they must not keep a loop from what is behind them.
type unknown struct {
	rids  map[string]bool
	since time.Time
}

// passOver lists them, and forgets them once they are to be asked about again.
func (u *unknown) passOver(now time.Time) []string {
	if now.Sub(u.since) > unknownFor {
		u.rids, u.since = make(map[string]bool), now
	}
	return slices.AppendSeq([]string{}, maps.Keys(u.rids))
}

// add remembers rid; false when it cannot remember more.
func (u *unknown) add(rid string) bool {
	if len(u.rids) >= unknownMost {
		return false
	}
	u.rids[rid] = true
	return true
}
