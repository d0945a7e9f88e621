package pacer

import (
	"math"
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
	for _, s := range []Schedule{Constant(333.3, 5000), Stepped(Step{333.3, 3 * time.Second}, Step{70.7, time.Second}, Step{901.1, 2 * time.Second}), Spike(99.9, 1234.5, 3*time.Second)} {
		last := time.Duration(-1)
		for i := range s.Attempts() {
			due := s.Due(i)
			if due < last {
				t.Fatalf("attempt %d is due at %s, before the one before it at %s", i, due, last)
			}
			last = due
		}
	}
}

func TestStepped_EachStepGoesOnWhereTheLastEnded(t *testing.T) {
	t.Parallel()
	s := Stepped(Step{2000, time.Second}, Step{5000, time.Second}, Step{8000, time.Second})
	if s.Attempts() != 15_000 || s.Duration() != 3*time.Second {
		t.Errorf("%d attempts in %s", s.Attempts(), s.Duration())
	}
	for i, want := range map[int]time.Duration{
		0: 0, 1000: 500 * time.Millisecond, 2000: time.Second, 4500: 1500 * time.Millisecond, 7000: 2 * time.Second, 14_999: 3*time.Second - 125*time.Microsecond,
	} {
		if got := s.Due(i); got != want {
			t.Errorf("attempt %d is due at %s, want %s", i, got, want)
		}
		if step := s.Step(i); step != int(want/time.Second) || s.Rate(step) != []float64{2000, 5000, 8000}[step] {
			t.Errorf("attempt %d is in step %d of %d", i, step, s.Steps())
		}
	}
}

func TestStepped_AStepMayEndWithinAnAttempt(t *testing.T) {
	t.Parallel()
	s := Stepped(Step{0.5, time.Second}, Step{1, 2 * time.Second}) // half an attempt, then two
	for i, want := range []time.Duration{0, 1500 * time.Millisecond, 2500 * time.Millisecond} {
		if got := s.Due(i); got != want {
			t.Errorf("attempt %d is due at %s, want %s", i, got, want)
		}
	}
}

func TestSpike_RisesForTheMiddleFifth(t *testing.T) {
	t.Parallel()
	s := Spike(1000, 10_000, 5*time.Second)
	if s.Attempts() != 14_000 || s.Duration() != 5*time.Second {
		t.Errorf("%d attempts in %s", s.Attempts(), s.Duration())
	}
	if before, in, after := s.Due(1999), s.Due(7000), s.Due(12_000); before >= 2*time.Second || in != 2500*time.Millisecond || after != 3*time.Second {
		t.Errorf("due at %s, %s, %s", before, in, after)
	}
}

func TestArrivals_AreBoundedByTimeAndNumber(t *testing.T) {
	t.Parallel()
	a := Arrivals{Kind: KindStepped, PerSecond: UsualRates(KindStepped), Lasts: 30 * time.Second}
	if s := a.Schedule(); s.Attempts() != 150_000 || s.Duration() != 30*time.Second {
		t.Errorf("%d attempts in %s", s.Attempts(), s.Duration())
	}
	a.Most = 20_001
	if s := a.Schedule(); s.Attempts() != 20_001 || s.Duration() != 10*time.Second+200*time.Microsecond {
		t.Errorf("%d attempts in %s", s.Attempts(), s.Duration())
	}
}

func TestArrivals_CheckRefusesWhatIsNoSchedule(t *testing.T) {
	t.Parallel()
	good := Arrivals{Kind: KindSpike, PerSecond: []float64{1, 2}, Lasts: time.Second}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(a *Arrivals){
		"kind":     func(a *Arrivals) { a.Kind = "bursts" },
		"one rate": func(a *Arrivals) { a.PerSecond = a.PerSecond[:1] },
		"no rate":  func(a *Arrivals) { a.Kind, a.PerSecond = KindStepped, nil },
		"zero":     func(a *Arrivals) { a.PerSecond = []float64{1, 0} },
		"nan":      func(a *Arrivals) { a.PerSecond = []float64{1, math.NaN()} },
		"infinite": func(a *Arrivals) { a.PerSecond = []float64{math.Inf(1), 1} },
		"no time":  func(a *Arrivals) { a.Lasts = 0 },
		"a week":   func(a *Arrivals) { a.Lasts = 7 * 24 * time.Hour },
		"negative": func(a *Arrivals) { a.Most = -1 },
	} {
		bad := good
		spoil(&bad)
		if err := bad.Check(); err == nil {
			t.Errorf("%s: %+v is taken", name, bad)
		}
	}
}

func BenchmarkDue(b *testing.B) {
	schedule := Stepped(Step{2000, time.Second}, Step{5000, time.Second}, Step{8000, time.Second})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		schedule.Due(i % schedule.Attempts())
	}
}
