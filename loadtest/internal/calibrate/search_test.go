package calibrate

import (
	"slices"
	"testing"
)

// upTo passes rates up to a capacity of the server, and cannot judge those beyond what
// the tool can send.
func upTo(server, tool float64) func(perSecond float64, try int) Verdict {
	return func(perSecond float64, _ int) Verdict {
		switch {
		case perSecond > tool:
			return Unclear
		case perSecond > server:
			return Fails
		}
		return Passes
	}
}

// search runs one to its end against what every try finds.
func search(t *testing.T, within Range, find func(perSecond float64, try int) Verdict) (rates []float64, found Found) {
	t.Helper()
	s := NewSearch(within)
	for range 200 {
		perSecond, more := s.Next()
		if !more {
			return rates, s.Found()
		}
		rates = append(rates, perSecond)
		for try := 0; s.Tried(find(perSecond, try)) == Unknown; try++ {
			if try == 3 {
				t.Fatalf("%v is not decided by four tries", perSecond)
			}
		}
	}
	t.Fatalf("no end: %v", rates)
	return nil, Found{}
}

const none = 1e12

func TestSearch_DoublesThenBisects(t *testing.T) {
	t.Parallel()
	within := Range{Start: 1000, Least: 100, Most: 100_000, Tolerance: 0.05}
	for name, c := range map[string]struct {
		find  func(float64, int) Verdict
		rates []float64
		want  Found
	}{
		"a capacity between":                {upTo(5200, none), []float64{1000, 2000, 4000, 8000, 6000, 5000, 5500, 5250}, Found{5000, 5250, Fails, true}},
		"the start is too fast":             {upTo(300, none), []float64{1000, 500, 250, 375, 313, 282, 298, 306}, Found{298, 306, Fails, true}},
		"nothing passes":                    {upTo(0, none), []float64{1000, 500, 250, 125, 100}, Found{0, 100, Fails, true}},
		"everything passes":                 {upTo(none, none), []float64{1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 100_000}, Found{100_000, 0, Unknown, true}},
		"the tool gives up first":           {upTo(none, 3100), []float64{1000, 2000, 4000, 3000, 3500, 3250, 3130}, Found{3000, 3130, Unclear, true}},
		"the tool far above the server":     {upTo(2900, 7000), []float64{1000, 2000, 4000, 3000, 2500, 2750, 2880}, Found{2880, 3000, Fails, true}},
		"the tool is the limit, the server": {upTo(6100, 7000), []float64{1000, 2000, 4000, 8000, 6000, 7000, 6500, 6250}, Found{6000, 6250, Fails, true}},
		"the tool cannot even start":        {upTo(none, 50), []float64{1000, 500, 250, 125, 100}, Found{0, 100, Unclear, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rates, found := search(t, within, c.find)
			if !slices.Equal(rates, c.rates) || found != c.want {
				t.Errorf("rates %v, found %+v,\nwant %v, %+v", rates, found, c.rates, c.want)
			}
		})
	}
}

func TestSearch_TwoTriesOfARateMustAgree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tries []Verdict
		want  Verdict
	}{
		"passed twice":                   {[]Verdict{Passes, Passes}, Passes},
		"failed twice":                   {[]Verdict{Fails, Fails}, Fails},
		"a hiccup is outvoted":           {[]Verdict{Fails, Passes, Passes}, Passes},
		"luck is outvoted":               {[]Verdict{Passes, Fails, Fails}, Fails},
		"what the tool missed is tried":  {[]Verdict{Unclear, Passes, Passes}, Passes},
		"of everything, the first twice": {[]Verdict{Passes, Unclear, Fails, Unclear}, Unclear},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewSearch(Range{Start: 1000, Least: 1, Most: 10_000, Tolerance: 0.05})
			for i, v := range c.tries {
				got, last := s.Tried(v), i == len(c.tries)-1
				if last && got != c.want || !last && got != Unknown {
					t.Errorf("after %v: %q", c.tries[:i+1], got)
				}
			}
		})
	}
}

// Whoever stops in the middle is told what is known by then, and no more.
func TestSearch_KnowsWhatIsDecidedSoFar(t *testing.T) {
	t.Parallel()
	s := NewSearch(Range{Start: 1000, Least: 100, Most: 100_000, Tolerance: 0.05})
	steps := []struct {
		v    Verdict
		want Found
	}{
		{Passes, Found{}}, {Passes, Found{Pass: 1000}},
		{Passes, Found{Pass: 1000}}, {Passes, Found{Pass: 2000}},
		{Fails, Found{Pass: 2000}}, {Fails, Found{Pass: 2000, Above: 4000, Why: Fails}},
	}
	for i, step := range steps {
		s.Tried(step.v)
		if got := s.Found(); got != step.want {
			t.Errorf("after %d tries %+v, want %+v", i+1, got, step.want)
		}
	}
}

func TestSearch_EndsWithinTheTolerance(t *testing.T) {
	t.Parallel()
	for _, capacity := range []float64{1, 3, 7, 60, 99, 101, 999, 1001, 4567, 12_345, 99_999} {
		_, found := search(t, Range{Start: 800, Least: 1, Most: 200_000, Tolerance: 0.05}, upTo(capacity, none))
		if found.Pass > capacity || found.Above <= capacity || found.Above-found.Pass > max(1, 0.05*found.Pass) {
			t.Errorf("capacity %v: %+v", capacity, found)
		}
	}
}
