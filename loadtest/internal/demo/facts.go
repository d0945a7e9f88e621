package demo

import (
	"fmt"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// scenario is what a fact is filed under that belongs to no invariant: the
// demonstration did not go as it must to show anything.
const scenario = "scenario"

// reserveFactor bounds the attempts that reach Redis, in units of stock.
const reserveFactor = 3

// fact is one thing that the demonstration promises.
type fact struct {
	holds     bool
	invariant string
	says      string
}

// facts holds what was seen against what is promised.
func (r *run) facts(e sale.Evidence, rep report.Report, s sample) []fact {
	answered, faults := r.tally.total(), r.tally.sum(attack.OutcomeFault)
	tooEarly := r.tally.sent(phaseEarly)
	early := r.tally.count(phaseEarly, sale.NotOpen.String())
	entered := rep.Funnel[sale.LayerRequest.String()].Entered
	reserved := rep.Funnel[sale.LayerReserve.String()].Entered
	all := []fact{
		{answered == Attempts && faults == 0, scenario, fmt.Sprintf("%d of %d attempts answered, %d without an answer%s", answered-faults, Attempts, faults, r.firstFault())},
		{entered == int64(Attempts), scenario, fmt.Sprintf("%d attempts counted by the gateways", entered)},
		{early == tooEarly && early > 0, scenario, fmt.Sprintf("%d of %d early attempts refused as not open", early, tooEarly)},
		{r.tally.count(phaseSoldOut, sale.SoldOut.String()) >= storm, scenario, fmt.Sprintf("%d attempts refused as sold out, the storm's %d among them", r.tally.sum(sale.SoldOut.String()), storm)},
		{reserved <= reserveFactor*Units, scenario, fmt.Sprintf("%d attempts entered layer reserve, at most %d × %d units", reserved, reserveFactor, Units)},
		{rep.Orders.Total == Units, "I1", fmt.Sprintf("%d orders for %d units", rep.Orders.Total, Units)},
		doubles(e.Orders),
	}
	all = append(all, r.outcomes()...)
	all = append(all, s.fact(), rest(e, rep.Verdict.AtRest))
	return append(all, conserved(rep.Funnel)...)
}

// firstFault quotes it, so that a failure explains itself.
func (r *run) firstFault() string {
	r.tally.mu.Lock()
	defer r.tally.mu.Unlock()
	if r.tally.fault == nil {
		return ""
	}
	return fmt.Sprintf(", the first: %v", r.tally.fault)
}

// doubles counts buyers with more orders than the sale allows, which is one.
func doubles(orders []sale.Order) fact {
	held := make(map[string]int)
	twice := 0
	for _, o := range orders {
		if !o.HoldsUnit {
			continue
		}
		if held[o.UserID]++; held[o.UserID] == 2 {
			twice++
		}
	}
	return fact{twice == 0, "I2", fmt.Sprintf("%d buyers hold more than one order", twice)}
}

// outcomes says whether everybody who was answered 202 has an outcome.
func (r *run) outcomes() []fact {
	accepted, decided := 0, 0
	for _, w := range r.tally.winners.All() {
		if !w.Accepted {
			continue
		}
		accepted++
		if w.Last() != sale.StatusQueued {
			decided++
		}
	}
	r.tally.mu.Lock()
	defer r.tally.mu.Unlock()
	all := []fact{{accepted == decided && accepted > 0, "I3", fmt.Sprintf("%d of %d reservations answered 202 have their outcome", decided, accepted)}}
	if n := len(r.tally.hanging); n > 0 {
		all = append(all, fact{false, "I3", fmt.Sprintf("%d tickets could not be followed to an outcome, the first: %v", n, r.tally.hanging[0])})
	}
	return all
}

// rest says whether Redis and Postgres came to agree.
func rest(e sale.Evidence, atRest bool) fact {
	return fact{atRest && e.Redis.Stock == e.Total-e.Held, "I4",
		fmt.Sprintf("at rest: %t; Redis has %d units in stock, Postgres %d free", atRest, e.Redis.Stock, e.Total-e.Held)}
}

// conserved says whether each layer of the funnel hands on what it does not turn
// away.
func conserved(funnel map[string]report.Layer) []fact {
	layers := sale.Layers()
	for i, layer := range layers {
		l := funnel[layer.String()]
		passed := l.Entered
		for _, n := range l.Exits {
			passed -= n
		}
		var next int64
		if i+1 < len(layers) {
			next = funnel[layers[i+1].String()].Entered
		}
		if passed != next {
			return []fact{{false, scenario, fmt.Sprintf("layer %s passed on %d attempts, %d arrived", layer, passed, next)}}
		}
	}
	return []fact{{true, scenario, "every attempt left the funnel by exactly one exit"}}
}
