package growth

import (
	"fmt"
	"slices"
	"strings"

	"sluice/loadtest/internal/report"
)

// measure is a figure that is taken at every size of something.
type measure struct {
	name string // of the figure
	text string // with its unit
}

// ofAccepts are measured wherever attempts are accepted.
var ofAccepts = []measure{
	{"accepts_per_s", "attempts accepted a second, closed loop"},
	{"p99_ms", "p99 of an accept at the rate that is kept, ms"},
	{"cpu_us", "CPU time of the whole stack for an attempt and its order, µs"},
	{"cpu_us_" + gateways, "CPU time of the gateways for an attempt, µs"},
	{"cpu_us_" + redis, "CPU time of Redis for an attempt and its order, µs"},
	{"cpu_us_" + nats, "CPU time of NATS for an attempt and its order, µs"},
	{"cpu_us_" + workers, "CPU time of the workers for an order, µs"},
	{"cpu_us_" + postgres, "CPU time of Postgres for an order, µs"},
	{"rest_cores", "cores that the stack uses while nobody comes"},
	{"mb_" + gateways, "memory of a gateway, MiB"},
	{"mb_" + workers, "memory of a worker, MiB"},
	{"mb_" + redis, "memory of Redis, MiB"},
	{"mb_" + nats, "memory of NATS, MiB"},
}

// ofOrders are measured where workers order a backlog.
var ofOrders = []measure{
	{"orders_per_s", "orders a second, of a backlog"},
	{"cpu_us", "CPU time of the whole stack for an order, µs"},
	{"cpu_us_" + workers, "CPU time of the workers for an order, µs"},
	{"cpu_us_" + postgres, "CPU time of Postgres for an order, µs"},
	{"mb_" + workers, "memory of a worker, MiB"},
}

// FourGateways is what four gateways cost for an attempt, of what one costs.
const FourGateways = "cpu_per_attempt_4_gateways_vs_1"

var fourGateways = report.Promise{Name: FourGateways, Text: "CPU time for an attempt and its order with 4 gateways, of that with one", Bound: 1.25}

// hadBought is how many users had bought when the last measurement of a size began.
const hadBought = "had_bought"

// axis is one thing that grows.
type axis struct {
	name, text string
	sizes      []int
	measures   []measure
}

// conclude makes curves of the figures and says by how much each grew.
func (r *run) conclude() {
	spreads := report.Spreads(r.rounds)
	for _, a := range []axis{
		{overSales, "open sales", r.Sales, ofAccepts}, {overGateways, "gateways", r.Gateways, ofAccepts},
		{overWorkers, "workers", r.Workers, ofOrders}, {overUsers, "users who have bought", r.Users, ofAccepts},
	} {
		if curves := a.curves(spreads); len(curves) > 0 {
			r.rep.Curves = append(r.rep.Curves, curves...)
			r.rep.Words = append(r.rep.Words, a.words(curves))
		}
	}
	r.ratios()
	r.rep.Config = map[string]any{"config": r.Config, "rounds": r.rounds}
	if len(r.leftOut) > 0 {
		r.rep.Words = append(r.rep.Words, "Growth: p99 and CPU time at the rate are left out where the rate did not come: "+strings.Join(r.leftOut, "; ")+".")
	}
	r.rep.Leave(report.Setup{Rounds: r.Rounds, Gateways: slices.Max(append(r.Gateways, 1)), Workers: slices.Max(append(r.Workers, 1)), Load: r.Stage, Connections: r.Connections})
	if r.unwanted > 0 {
		r.rep.Words = append(r.rep.Words, fmt.Sprintf("Growth: %d answers were not 202; rates count only those that were.", r.unwanted))
	}
}

// curves are those that have a point.
func (a axis) curves(spreads map[string]report.Spread) []report.Curve {
	var all []report.Curve
	for _, m := range a.measures {
		c := report.Curve{Name: a.name + "_" + m.name, Over: a.text, Figure: m.text}
		for _, size := range a.sizes {
			if s, taken := spreads[nameAt(a.name, size, m.name)]; taken {
				at := float64(size)
				if had, ok := spreads[figureOf(a.name, size, hadBought)]; ok {
					at = had.Median
				}
				c.Points = append(c.Points, report.CurvePoint{Size: at, Spread: s})
			}
		}
		if len(c.Points) > 0 {
			all = append(all, c)
		}
	}
	return all
}

// words say how the figures change with the size. A cost is of one attempt, order or process:
// where what all of them take grows with their number and no faster, it stays what it was. A
// rate of the whole would grow as gateways or workers do, and not fall as sales or users come.
func (a axis) words(curves []report.Curve) string {
	var said []string
	for _, c := range curves {
		if len(c.Points) > 1 {
			said = append(said, c.Figure+": "+strings.Join(steps(c), ", "))
		}
	}
	if len(said) == 0 {
		return fmt.Sprintf("By %s: one size was measured.", a.text)
	}
	return fmt.Sprintf("By %s, medians (× 1 is no growth): %s.", a.text, strings.Join(said, "; "))
}

// nameAt is the name of a figure at a size: one gateway is what one sale has.
func nameAt(over string, size int, name string) string {
	if over == overGateways && size == 1 {
		over = overSales
	}
	return figureOf(over, size, name)
}

// ratios compares gateways within each round.
func (r *run) ratios() {
	var values []float64
	for _, f := range r.rounds {
		one, four := f[nameAt(overGateways, 1, "cpu_us")], f[nameAt(overGateways, 4, "cpu_us")]
		if one > 0 && four > 0 {
			values = append(values, four/one)
		}
	}
	if len(values) > 0 {
		found := report.SpreadOf(values)
		r.rep.Ratios = map[string]report.Spread{FourGateways: found}
		r.rep.Promises = append(r.rep.Promises, fourGateways.Judge(found.Median))
	}
}

// steps are how a figure changes from the least size to each other.
func steps(c report.Curve) (all []string) {
	least := c.Points[0]
	for _, now := range c.Points[1:] {
		if least.Median == 0 {
			all = append(all, fmt.Sprintf("from 0 to %.3g (%.0f to %.0f)", now.Median, least.Size, now.Size))
			continue
		}
		all = append(all, fmt.Sprintf("× %.2f from %.0f to %.0f", now.Median/least.Median, least.Size, now.Size))
	}
	return all
}
