package sale

import (
	"fmt"
	"time"
)

// InRedis is the part of a sale's configuration that Redis keeps, to decide attempts by. It
// has no price: that travels in the hand-over.
type InRedis struct {
	OpensAt, ClosesAt time.Time
	Limit             int   // per user
	Total             int64 // units
	RebuyAfterRelease bool
	AllowListed       bool
	Paused            bool
}

// Differences says in what Redis differs from the entry, and from the total that Postgres
// counts: nothing once it was told of the latest change.
func (e Entry) Differences(in InRedis, total int64) (differences []string) {
	differ := func(name string, is, want any) {
		differences = append(differences, fmt.Sprintf("%s is %v, not %v", name, is, want))
	}
	if in.OpensAt.UnixMilli() != e.OpensAt.UnixMilli() { // Redis has no finer time
		differ("opens_at", in.OpensAt, e.OpensAt)
	}
	if in.ClosesAt.UnixMilli() != e.ClosesAt.UnixMilli() {
		differ("closes_at", in.ClosesAt, e.ClosesAt)
	}
	if in.Limit != e.PerUserLimit {
		differ("per_user_limit", in.Limit, e.PerUserLimit)
	}
	if in.Total != total {
		differ("total", in.Total, total)
	}
	if in.RebuyAfterRelease != e.RebuyAfterRelease {
		differ("rebuy_after_release", in.RebuyAfterRelease, e.RebuyAfterRelease)
	}
	if in.AllowListed != e.Eligibility.HasAllowList {
		differ("allow_list", in.AllowListed, e.Eligibility.HasAllowList)
	}
	if in.Paused != e.Paused {
		differ("paused", in.Paused, e.Paused)
	}
	return differences
}
