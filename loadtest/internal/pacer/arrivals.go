package pacer

import (
	"fmt"
	"time"
)

// Kinds of arrivals.
const (
	KindConstant = "constant" // one rate
	KindStepped  = "stepped"  // one rate after the other, each as long
	KindSpike    = "spike"    // the first rate, and the second for the middle fifth
)

// Bounds of arrivals: what one machine can be asked for.
const (
	mostSteps     = 20
	mostPerSecond = 1_000_000
)

// Arrivals say how attempts come, such that a file, a flag or another process can say
// it.
type Arrivals struct {
	Kind      string        `json:"kind"`
	PerSecond []float64     `json:"per_second"`
	Lasts     time.Duration `json:"lasts_ns"` // all of it
	Most      int           `json:"most"`     // attempts; 0 is no bound but Lasts
}

// Longest that arrivals may last.
const Longest = 12 * time.Hour

// UsualRates are those of a kind when nobody names others.
func UsualRates(kind string) []float64 {
	switch kind {
	case KindConstant:
		return []float64{5000}
	case KindSpike:
		return []float64{2000, 8000}
	default:
		return []float64{2000, 5000, 8000}
	}
}

// Check says what is wrong with arrivals.
func (a Arrivals) Check() error {
	rates, known := map[string][2]int{KindConstant: {1, 1}, KindStepped: {1, mostSteps}, KindSpike: {2, 2}}[a.Kind]
	switch n := len(a.PerSecond); {
	case !known:
		return fmt.Errorf("arrivals must be %s, %s or %s, not %q", KindConstant, KindStepped, KindSpike, a.Kind)
	case n < rates[0] || n > rates[1]:
		return fmt.Errorf("%s arrivals have %s, not %d", a.Kind, howMany(rates[0], rates[1]), n)
	case a.Lasts <= 0 || a.Lasts > Longest:
		return fmt.Errorf("arrivals last more than 0s and at most %s, not %s", Longest, a.Lasts)
	case a.Most < 0:
		return fmt.Errorf("arrivals cannot be %d attempts at most", a.Most)
	}
	for _, rate := range a.PerSecond {
		if !(rate > 0 && rate <= mostPerSecond) {
			return fmt.Errorf("a rate must be above 0 and at most %d attempts a second, not %v", mostPerSecond, rate)
		}
	}
	return nil
}

func howMany(least, most int) string {
	switch {
	case least != most:
		return fmt.Sprintf("%d to %d rates", least, most)
	case most == 1:
		return "exactly 1 rate"
	default:
		return fmt.Sprintf("exactly %d rates", most)
	}
}

// Schedule is when the attempts are due, of arrivals that Check finds nothing wrong with.
func (a Arrivals) Schedule() Schedule {
	s := a.unbounded()
	if a.Most > 0 {
		s = s.First(a.Most)
	}
	return s
}

func (a Arrivals) unbounded() Schedule {
	if a.Kind == KindSpike {
		return Spike(a.PerSecond[0], a.PerSecond[1], a.Lasts)
	}
	steps := make([]Step, len(a.PerSecond))
	for i, rate := range a.PerSecond {
		steps[i] = Step{PerSecond: rate, Lasts: a.Lasts / time.Duration(len(steps))}
	}
	return Stepped(steps...)
}
