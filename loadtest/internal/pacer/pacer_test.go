package pacer

import (
	"testing"
	"time"
)

func TestConstant_SpacesAttemptsEvenly(t *testing.T) {
	t.Parallel()
	s := Constant(1000, 60_000)
	for i, want := range map[int]time.Duration{0: 0, 1: time.Millisecond, 59_999: 59_999 * time.Millisecond, 70_000: time.Minute} {
		if got := s.Due(i); got != want {
			t.Errorf("attempt %d is due at %s, want %s", i, got, want)
		}
	}
	if s.Duration() != time.Minute {
		t.Errorf("takes %s", s.Duration())
	}
}

func TestConstant_WithoutAttemptsTakesNoTime(t *testing.T) {
	t.Parallel()
	if s := Constant(5, 0); s.Duration() != 0 || s.Due(3) != 0 {
		t.Errorf("takes %s", s.Duration())
	}
}

func TestDue_NeverGoesBack(t *testing.T) {
	t.Parallel()
	const attempts = 5000
	s := Constant(333.3, attempts)
	last := time.Duration(-1)
	for i := range attempts {
		if due := s.Due(i); due < last {
			t.Fatalf("attempt %d is due at %s, before the one before it at %s", i, due, last)
		} else {
			last = due
		}
	}
}
