package calibrate

import "math"

// Verdict is what a try at one rate says of that rate.
type Verdict string

// Verdicts.
const (
	Unknown Verdict = ""     // not decided yet
	Passes  Verdict = "pass" // latency kept, nobody refused by overload
	Fails   Verdict = "fail"
	Unclear Verdict = "unclear" // the tool, or what else ran on the machine, was the limit: neither of them
)

// agree is how many tries of a rate must, for it to be decided.
const agree = 2

// Range of a search, in attempts a second.
type Range struct {
	Start       float64 `json:"start"`     // the first rate
	Least, Most float64 `json:"-"`         // no rate is tried beyond them
	Tolerance   float64 `json:"tolerance"` // part of the highest rate that passes
}

// Search looks for the highest rate that passes. It is pure: it is told what every try
// found, and says which rate is next.
type Search struct {
	within Range
	next   float64 // 0 once there is none
	votes  map[Verdict]int
	found  Found
}

// Found is what a search knows so far. Zero rates are those that it does not know.
type Found struct {
	Pass  float64 `json:"pass_per_s"`  // highest that passes
	Above float64 `json:"above_per_s"` // lowest above it that does not
	Why   Verdict `json:"above"`       // Fails or Unclear
	Ended bool    `json:"ended"`       // the tolerance or an end of the range was reached
}

// NewSearch begins a search. The range has 0 < Least <= Start <= Most and a Tolerance
// above zero.
func NewSearch(within Range) *Search {
	return &Search{within: within, next: within.Start, votes: make(map[Verdict]int)}
}

// Next is the rate to try; false once the search has ended.
func (s *Search) Next() (perSecond float64, more bool) { return s.next, s.next > 0 }

// Found is what is known.
func (s *Search) Found() Found { return s.found }

// Tried tells what a try at the next rate found. It returns what the rate is decided to
// be: Unknown until two tries of it agree.
func (s *Search) Tried(v Verdict) Verdict {
	s.votes[v]++
	if s.votes[v] < agree {
		return Unknown
	}
	clear(s.votes)
	if v == Passes {
		s.found.Pass = s.next
	} else {
		s.found.Above, s.found.Why = s.next, v
	}
	s.next = s.after()
	s.found.Ended = s.next == 0
	return v
}

// after is the rate to try after a decision; 0 when there is none.
func (s *Search) after() float64 {
	f := s.found
	switch {
	case f.Above == 0: // everything passed
		return unless(f.Pass >= s.within.Most, min(round(2*f.Pass), s.within.Most))
	case f.Pass == 0: // nothing did
		return unless(f.Above <= s.within.Least, max(round(f.Above/2), s.within.Least))
	case f.Above-f.Pass <= f.Pass*s.within.Tolerance:
		return 0
	}
	middle := round((f.Pass + f.Above) / 2)
	return unless(middle <= f.Pass || middle >= f.Above, middle)
}

func unless(ended bool, perSecond float64) float64 {
	if ended {
		return 0
	}
	return perSecond
}

// round keeps three figures, and whole attempts: nobody types more.
func round(perSecond float64) float64 {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(perSecond))-2))
	return max(1, math.Round(perSecond/unit)*unit)
}
