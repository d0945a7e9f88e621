package fulfil

import (
	"slices"
	"testing"
	"time"
)

func TestUnknown_IsPassedOverForAMinuteThenAskedAgain(t *testing.T) {
	t.Parallel()
	var u unknown
	now := time.Now()
	if got := u.passOver(now); len(got) != 0 || got == nil {
		t.Errorf("at first %v", got)
	}
	u.add("r1")
	if got := u.passOver(now.Add(unknownFor)); !slices.Equal(got, []string{"r1"}) {
		t.Errorf("within the minute %v", got)
	}
	if got := u.passOver(now.Add(unknownFor + time.Second)); len(got) != 0 {
		t.Errorf("after the minute %v", got)
	}
	for range 2 * unknownMost {
		u.add(time.Now().String())
	}
	if len(u.rids) > unknownMost {
		t.Errorf("remembers %d", len(u.rids))
	}
}
