package pacer

import (
	"testing"
	"time"
)

func TestConstant_SpacesAttemptsEvenly(t *testing.T) {
	t.Parallel()
	s := Constant(1000, 60_000)
	for i, want := range map[int]time.Duration{0: 0, 1: time.Millisecond, 59_999: 59_999 * time.Millisecond} {
		if got := s.Due(i); got != want {
			t.Errorf("attempt %d is due at %s, want %s", i, got, want)
		}
	}
	if s.Len() != 60_000 || s.Duration() != time.Minute {
		t.Errorf("%d attempts in %s", s.Len(), s.Duration())
	}
}

func TestStepped_HoldsEachRate(t *testing.T) {
	t.Parallel()
	s := Stepped(2*time.Second, 10, 100)
	if s.Len() != 220 {
		t.Fatalf("%d attempts, want 220", s.Len())
	}
	if got := s.Due(20); got != 2*time.Second {
		t.Errorf("second step starts at %s", got)
	}
	if got := s.Due(120); got != 3*time.Second {
		t.Errorf("half of the second step is at %s", got)
	}
}

func TestSpike_ReturnsToBase(t *testing.T) {
	t.Parallel()
	s := Spike(10, 1000, time.Second, 500*time.Millisecond)
	if s.Len() != 520 || s.Duration() != 2500*time.Millisecond {
		t.Fatalf("%d attempts in %s", s.Len(), s.Duration())
	}
	if got := s.Due(510) - s.Due(509); got > time.Millisecond*2 {
		t.Errorf("spike ends with a gap of %s", got)
	}
	if got := s.Due(512) - s.Due(511); got != 100*time.Millisecond {
		t.Errorf("gap after the spike is %s", got)
	}
}

func TestNew_LeavesEmptyStepsOut(t *testing.T) {
	t.Parallel()
	s := New(Step{PerSecond: 0, Attempts: 5}, Step{PerSecond: 5, Attempts: 0})
	if s.Len() != 0 || s.Duration() != 0 || s.Due(3) != 0 {
		t.Fatalf("empty schedule: %d attempts in %s", s.Len(), s.Duration())
	}
}

func TestDue_NeverGoesBack(t *testing.T) {
	t.Parallel()
	s := New(Step{PerSecond: 333.3, Attempts: 1000}, Step{PerSecond: 7, Attempts: 10}, Step{PerSecond: 9999, Attempts: 5000})
	last := time.Duration(-1)
	for i := range s.Len() {
		if due := s.Due(i); due < last {
			t.Fatalf("attempt %d is due at %s, before the one before it at %s", i, due, last)
		} else {
			last = due
		}
	}
}
