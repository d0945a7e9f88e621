package backlog

import (
	"testing"
	"time"
)

var start = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

func TestMeter_RateIsOfTheLastFiveSecondsHoweverOftenItIsAsked(t *testing.T) {
	t.Parallel()
	for name, every := range map[string]time.Duration{
		"ten milliseconds": 10 * time.Millisecond, "a quarter": 250 * time.Millisecond, "a second": time.Second, "four seconds": 4 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m Meter
			var rate float64
			var served int64
			for now := start; now.Before(start.Add(20 * time.Second)); now = now.Add(every) {
				rate, _ = m.Add(now, 1, served)
				served += int64(every / time.Millisecond) // a thousand a second
			}
			if rate < 999 || rate > 1001 {
				t.Errorf("rate %v of a thousand a second", rate)
			}
			for i := range int(10*time.Second/every) + 1 {
				rate, _ = m.Add(start.Add(20*time.Second+time.Duration(i)*every), 1, served)
			}
			if rate != 0 {
				t.Errorf("rate %v after ten seconds in which nothing was served", rate)
			}
		})
	}
}

func TestMeter_NewEpochStartsOver(t *testing.T) {
	t.Parallel()
	var m Meter
	if _, measured := m.Add(at(0), 1, 1000); measured {
		t.Error("measured by one sample")
	}
	if rate, measured := m.Add(at(1), 1, 1100); rate != 100 || !measured {
		t.Errorf("rate %v, want 100", rate)
	}
	if rate, measured := m.Add(at(2), 2, 3); rate != 0 || measured {
		t.Errorf("rate %v after a rebuild", rate)
	}
	if rate, _ := m.Add(at(3), 2, 13); rate != 10 {
		t.Errorf("rate %v at the new epoch, want 10", rate)
	}
}

func TestMeter_AGapIsAveragedOver(t *testing.T) {
	t.Parallel()
	var m Meter
	m.Add(at(0), 1, 0)
	m.Add(at(1), 1, 100)
	if rate, measured := m.Add(at(101), 1, 1100); rate != 10 || !measured {
		t.Errorf("rate %v over a gap of a hundred seconds with a thousand served, want 10", rate)
	}
}
