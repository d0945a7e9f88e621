package report

import "fmt"

// Promise is a bound that Sluice promises, and what a run found.
type Promise struct {
	Name      string  `json:"name"` // of the figure
	Text      string  `json:"text"`
	AtLeast   bool    `json:"at_least"` // the bound is a lower one
	Bound     float64 `json:"bound"`
	Known     bool    `json:"known"`  // false: there was no figure to judge
	Figure    float64 `json:"figure"` // median of the rounds
	Held      bool    `json:"held"`
	Tolerated bool    `json:"tolerated"` // within threefold slack of the bound, for a machine that has other things to do
}

// slack of a promise on a machine that has other things to do.
const slack = 3

// Judge decides whether the figure keeps the promise.
func (p Promise) Judge(figure float64) Promise {
	p.Known, p.Figure = true, figure
	if p.AtLeast {
		p.Held, p.Tolerated = figure >= p.Bound, figure >= p.Bound/slack
	} else {
		p.Held, p.Tolerated = figure <= p.Bound, figure <= p.Bound*slack
	}
	return p
}

// Found says what was found in place of the bound.
func (p Promise) Found() string {
	if !p.Known {
		return "absent: the worker does not tell it, or there was nothing to judge"
	}
	if p.AtLeast {
		return fmt.Sprintf("%s, at least %s", short(p.Figure), short(p.Bound))
	}
	return fmt.Sprintf("%s, at most %s", short(p.Figure), short(p.Bound))
}

// Word says whether the promise was held.
func (p Promise) Word() string {
	switch {
	case p.Held:
		return "held"
	case p.Tolerated:
		return "not held, by less than a factor of three"
	default:
		return "not held"
	}
}

// Pace is how the workers of one scenario paced themselves over time.
type Pace struct {
	Name    string       `json:"name"`
	Text    string       `json:"text"`
	Marks   []Mark       `json:"marks"`
	Samples []PaceSample `json:"samples"`
}

// Mark is something that was done to the run, T seconds after it began.
type Mark struct {
	T    float64 `json:"t"`
	Text string  `json:"text"`
}

// PaceSample is what the workers said at one moment, T seconds after the run began.
// Rates are since the sample before.
type PaceSample struct {
	T           float64   `json:"t"`
	OrdersPerS  float64   `json:"orders_per_s"`  // of all workers together
	CommitsPerS float64   `json:"commits_per_s"` // order transactions
	CommitP90   float64   `json:"commit_p90_ms"` // of those, from the histogram; 0 when there was none
	Shares      []float64 `json:"shares"`        // orders a second by worker
	Told        bool      `json:"told"`          // the workers tell their pace; else what follows means nothing
	PacePerS    float64   `json:"pace_per_s"`    // of all workers together
	P90         float64   `json:"p90_ms"`        // the highest
	Target      float64   `json:"target_ms"`     // of the worker with that p90
	LimitedBy   string    `json:"limited_by"`    // of the worker with that p90
	Consumers   float64   `json:"consumers"`     // of all workers together
}
