package report

import (
	"fmt"
	"strings"

	"sluice/shared/sale"
)

// Found is what a run has counted itself. A number that it did not count stays zero, and
// nothing is said about it.
type Found struct {
	Rounds     int // 0 is one
	Buyers     int64
	Attempts   int64  // sent
	Units      int64  // of all sales together
	Left       int64  // of those, units of sales that did not sell out
	Accepted   int64  // reservations that somebody was answered 202 for
	Partly     bool   // Accepted are not all of them, but those that were kept
	Ordered    int64  // of those, the ones that Postgres has an order of
	Rejected   int64  // of those, the ones whose order was rejected
	Oversold   int64  // orders that hold a unit beyond those there are
	Doubles    int64  // orders beyond what their buyer may have
	Unanswered int64  // attempts without an answer
	Limit      string // what the limit was, in words, as the sender has it
}

// Plus adds up what was found in two sales of one run.
func (f Found) Plus(g Found) Found {
	f.Units += g.Units
	f.Left += g.Left
	f.Accepted += g.Accepted
	f.Ordered += g.Ordered
	f.Rejected += g.Rejected
	f.Oversold += g.Oversold
	f.Doubles += g.Doubles
	return f
}

// Quiet is the part of the machine that everything else may use while figures still are
// those of Sluice.
const Quiet = 0.05

// Say puts what was found into words that claim no more than was seen: with the scale, and
// never that something cannot be.
func (r *Report) Say(f Found) {
	r.Words = append(r.Words, f.sentences()...)
	r.Words = append(r.Words, r.sentences(f)...)
}

// scale is how much was tried.
func (f Found) scale() string {
	scale := f.rounds() + " of "
	if f.Buyers > 0 {
		scale += count(f.Buyers) + " buyers and "
	}
	scale += count(f.Attempts) + " attempts"
	if f.Units > 0 {
		scale += " for " + many(f.Units, "unit", "units")
	}
	if f.Units > 0 && f.Left > 0 {
		scale += ", of which " + count(f.Units-f.Left) + " were of sales that sold out"
	}
	return scale
}

// sentences say what the run counted.
func (f Found) sentences() []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if f.Oversold > 0 {
		say("Oversold: %s beyond the units that there are, in %s.", many(f.Oversold, "order", "orders"), f.scale())
	} else if f.Units > 0 && f.Attempts > 0 {
		say("No oversell in %s.", f.scale())
	}
	if f.Doubles > 0 {
		say("%s beyond what their buyers may have.", capital(many(f.Doubles, "order is", "orders are")))
	}
	answered := "answered 202"
	if f.Partly {
		answered += " that were kept"
	}
	switch {
	case f.Accepted > 0 && f.Ordered == f.Accepted:
		say("Every one of %s %s has its order.", many(f.Accepted, "reservation", "reservations"), answered)
	case f.Accepted > 0:
		say("Of %s %s %s, %s rejected, %s an outcome.", many(f.Accepted, "reservation", "reservations"), answered,
			many(f.Ordered, "has its order", "have their order"), many(f.Rejected, "was", "were"), many(f.Accepted-f.Ordered-f.Rejected, "is without", "are without"))
	}
	if f.Unanswered > 0 {
		say("%s had no answer.", capital(many(f.Unanswered, "attempt", "attempts")))
	}
	if f.Limit != "" {
		say("%s.", strings.TrimSuffix(capital(f.Limit), "."))
	}
	return all
}

// sentences say what is in the report's figures.
func (r Report) sentences(f Found) []string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	reserve, through := r.Funnel[sale.LayerReserve.String()]
	if first := r.Funnel[sale.LayerAddress.String()]; through && first.Entered > 0 {
		per := ""
		if f.Units > 0 && f.Left == 0 { // else there were units for all who came
			per = fmt.Sprintf(", %s for each unit", short(float64(reserve.Entered)/float64(f.Units)))
		}
		say("Of %s that reached the gateways %s entered layer reserve%s.", many(first.Entered, "attempt", "attempts"), count(reserve.Entered), per)
	}
	for _, c := range []struct{ class, text string }{
		{"in_stock.accepted", "Of %s accepted while there was stock half were answered within %s and 99 of 100 within %s of when they were due."},
		{"sold_out.sold_out", "Of %s refused once it was sold out half were answered within %s and 99 of 100 within %s of when they were due."},
	} {
		if l := r.Latency[c.class]; l.Count > 0 {
			say(c.text, many(l.Count, "attempt", "attempts"), millis(l.P50), millis(l.P99))
		}
	}
	if r.Writes.Seconds > 0 {
		say("The database wrote %s rows in the %s s in which workers wrote, %s a second.", count(r.Writes.Rows), short(r.Writes.Seconds), count(int64(r.DBWritesPerS)))
	}
	return append(append(all, r.promised(f)...), r.noise()...)
}

// promised says which promises were held, if any were judged.
func (r Report) promised(f Found) []string {
	if len(r.Promises) == 0 {
		return nil
	}
	held := 0
	var missed []string
	for _, p := range r.Promises {
		if p.Held {
			held++
			continue
		}
		missed = append(missed, p.Text+" ("+p.Found()+")")
	}
	text := fmt.Sprintf("%d of %s held by the median of %s", held, many(int64(len(r.Promises)), "bound was", "bounds were"), f.rounds())
	if missed != nil {
		text += "; not held: " + strings.Join(missed, "; ")
	}
	return []string{text + "."}
}

func (f Found) rounds() string { return many(int64(max(1, f.Rounds)), "round", "rounds") }

// noise says whether the machine had other things to do, if it was watched.
func (r Report) noise() []string {
	for _, p := range r.Processes {
		if p.Name != OtherProcess || r.Machine.CPUs == 0 {
			continue
		}
		used := fmt.Sprintf("everything else on the machine used %s of %s", short(p.Cores), many(int64(r.Machine.CPUs), "core", "cores"))
		if p.Cores > Quiet*float64(r.Machine.CPUs) {
			return []string{"The machine was not quiet: " + used + " meanwhile. Times and rates are what was left."}
		}
		return []string{"The machine was quiet: " + used + " meanwhile."}
	}
	return nil
}

// many writes a number of things.
func many(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + more
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
