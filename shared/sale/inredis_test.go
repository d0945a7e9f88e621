package sale

import (
	"strings"
	"testing"
	"time"
)

func TestDifferences_NameWhatRedisHasOtherwise(t *testing.T) {
	t.Parallel()
	opens := time.Date(2026, 12, 1, 10, 0, 0, 123_456_000, time.UTC)
	e := Entry{Sale: Sale{PerUserLimit: 2, OpensAt: opens, ClosesAt: opens.Add(time.Hour)}}
	told := InRedis{OpensAt: opens.Truncate(time.Millisecond), ClosesAt: opens.Add(time.Hour).Truncate(time.Millisecond), Limit: 2, Total: 9}
	for want, spoil := range map[string]func(*InRedis){
		"":                                       func(*InRedis) {},
		"opens_at is 1970":                       func(in *InRedis) { in.OpensAt = time.UnixMilli(0).UTC() },
		"closes_at is 2026-12-01 11:00:00.124":   func(in *InRedis) { in.ClosesAt = in.ClosesAt.Add(time.Millisecond) },
		"per_user_limit is 20, not 2":            func(in *InRedis) { in.Limit = 20 },
		"total is 8, not 9":                      func(in *InRedis) { in.Total = 8 },
		"rebuy_after_release is true, not false": func(in *InRedis) { in.RebuyAfterRelease = true },
		"allow_list is true, not false":          func(in *InRedis) { in.AllowListed = true },
		"paused is true, not false":              func(in *InRedis) { in.Paused = true },
	} {
		in := told
		spoil(&in)
		if got := strings.Join(e.Differences(in, 9), "; "); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
