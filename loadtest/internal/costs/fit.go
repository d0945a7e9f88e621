package costs

import (
	"sluice/loadtest/internal/capacity"
	"sluice/loadtest/internal/report"
)

// medians are the figures over the rounds.
type medians map[string]float64

func mediansOf(rounds []figures) medians {
	all := make(medians)
	for name, s := range report.Spreads(rounds) {
		all[name] = s.Median
	}
	return all
}

// cost is what one operation costs at one gateway and one worker.
func (m medians) cost(operation string) capacity.Cost {
	c := make(capacity.Cost)
	for _, kind := range append(capacity.Kinds(), capacity.Tool) {
		c[kind] = m[sized(1, figureOf(operation, string(kind)))]
	}
	return c
}

// rushes are those at one gateway, over all, half and a quarter of the connections.
func (c Config) rushes() []string {
	return []string{rushName(c.Connections), rushName(c.Connections / 2), rushName(c.Connections / 4)}
}

// costs are those of all operations. What a call costs is what the line says of rushes: what
// was spent on orders is in all of them alike.
func (m medians) costs(c Config) capacity.Costs {
	all := capacity.Costs{Refusal: m.cost(opRefusal), Script: m.cost(opScript), Accept: m.cost(opAccept), Order: m.cost(opOrder), Poll: m.cost(opPoll),
		Together: m[sized(1, "accept_together")], Call: make(capacity.Cost), Message: m[sized(1, "message_seconds")], BytesPerOrder: m[sized(1, "bytes_per_order")]}
	for _, kind := range []capacity.Kind{capacity.Gateways, capacity.Redis, capacity.NATS} {
		all.Call[kind] = m.sharing(c, string(kind)).Call
	}
	return all
}

// sharing is the line of a figure of the rushes over those who travel together.
func (m medians) sharing(c Config, figure string) capacity.Sharing {
	var measured []capacity.Shared
	for _, rush := range c.rushes() {
		measured = append(measured, capacity.Shared{Together: m[sized(1, figureOf(rush, "together"))], Cost: m[sized(1, figureOf(rush, figure))]})
	}
	return capacity.FitSharing(measured)
}

// company is that of the rushes.
func (m medians) company(c Config) capacity.Company {
	var measured []capacity.Gathered
	for i, rush := range c.rushes() {
		measured = append(measured, capacity.Gathered{Connections: float64(c.Connections >> i), Together: m[sized(1, figureOf(rush, "together"))]})
	}
	return capacity.FitCompany(measured)
}

// fit is the model of this machine.
func (m medians) fit(c Config, cpus int) capacity.Fit {
	rush, refusals := m.rush(1, c.Connections), m.refusals(1)
	return capacity.Fit{
		Cores: max(m.cores(cpus, 1, rushName(c.Connections)), rush.Busy, rush.BusyAll, refusals.Busy), Connections: float64(c.Connections),
		Rush: rush, Refusals: refusals, Sharing: m.sharing(c, "cpu"), Company: m.company(c), Rest: m[sized(1, "rest_cores")],
	}
}

// cores are those that were left to a measurement by everything else on the machine.
func (m medians) cores(cpus, size int, measurement string) float64 {
	return float64(cpus) - m[sized(size, figureOf(measurement, "others"))]
}

// rush is what was found with so many gateways and workers.
func (m medians) rush(size, connections int) capacity.Rush {
	get := func(name string) float64 { return m[sized(size, figureOf(rushName(connections), name))] }
	return capacity.Rush{PerSecond: get("per_s"), CPU: get("cpu"), UntilLast: get("until_last"), Busy: get("busy"), BusyAll: get("busy_all"), Together: get("together")}
}

func (m medians) refusals(size int) capacity.Refusals {
	get := func(name string) float64 { return m[sized(size, figureOf(opRefusal, name))] }
	return capacity.Refusals{PerSecond: get("per_s"), CPU: get("cpu"), Busy: get("busy")}
}

// complete tells whether all was measured that is wanted at a size.
func (m medians) complete(c Config, size int) bool {
	return m[sized(size, figureOf(rushName(c.Connections), "per_s"))] > 0 && m[sized(size, figureOf(opRefusal, "per_s"))] > 0
}
