package chaos

import (
	"testing"
	"time"
)

func TestLongestGap_IsBetweenTheMomentsAlone(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		all  []time.Duration
		want time.Duration
	}{
		"nothing":                    {nil, 10 * s},
		"nothing between":            {[]time.Duration{5 * s, 30 * s}, 10 * s},
		"from the kill on":           {[]time.Duration{9 * s, 16 * s, 17 * s, 19 * s}, 6 * s},
		"after some that came still": {[]time.Duration{18 * s, 11 * s, 12 * s}, 6 * s},
		"until the end":              {[]time.Duration{11 * s, 12 * s}, 8 * s},
	} {
		if got := longestGap(c.all, 10*s, 20*s); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
