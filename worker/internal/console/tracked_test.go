package console

import (
	"testing"
	"time"

	"sluice/shared/sale"
)

// That nothing waited when a sale was last read says nothing of now.
func TestBody_TheAgeOfWhatCannotBeReadIsNotKnown(t *testing.T) {
	t.Parallel()
	now := time.Now()
	read := func(err error) *tracked {
		tr := &tracked{}
		tr.read(now, sale.Snapshot{Epoch: 1}, sale.HandOff{}, nil)
		if err != nil {
			tr.read(now, sale.Snapshot{}, sale.HandOff{}, err)
		}
		return tr
	}
	for name, tc := range map[string]struct {
		sale    *tracked
		backlog *Backlog
		known   bool
	}{
		"nothing waits":                         {read(nil), &Backlog{Known: true}, true},
		"nothing waited":                        {read(sale.ErrStale), &Backlog{Known: true, Stale: true}, false},
		"something waits since":                 {read(sale.ErrStale), &Backlog{Known: true, Stale: true, Waiting: 1, Oldest: now}, true},
		"nothing waits, and nobody watches it":  {read(nil), nil, true},
		"nothing waited, and nobody watches it": {read(sale.ErrStale), nil, false},
	} {
		if got := tc.sale.body(now, tc.backlog).AgeKnown; got != tc.known {
			t.Errorf("%s: known is %t", name, got)
		}
	}
}
