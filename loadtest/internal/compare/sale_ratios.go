package compare

import "sluice/loadtest/internal/report"

// layer4PerUnit is how many attempts Sluice lets through to Redis for a unit.
const layer4PerUnit = "layer4_per_unit"

// salePromises are what the part sale holds Sluice to: how many times shorter it is until
// the last order row, and what it lets through.
func salePromises() []report.Promise {
	return []report.Promise{
		{Name: "sale_vs_" + readCheckInsertName, Text: "time until the last order row, " + readCheckInsertName + " with all that it oversells / Sluice", AtLeast: true, Bound: 10},
		{Name: "sale_vs_" + conditionalUpdateName, Text: "time until the last order row, " + conditionalUpdateName + " / Sluice", AtLeast: true, Bound: 4},
		{Name: layer4PerUnit, Text: "attempts that enter reserve / units", Bound: 3},
	}
}

// compareSales takes the ratios of one round: of two systems that met the same demand one
// shortly after the other.
func (f figures) compareSales() {
	for ratio, until := range map[string]string{"sale_vs_": "_last_order_s", "sale_until_units_vs_": "_until_units_s"} {
		for _, b := range ofGoods() {
			theirs, there := f[saleFigure(b.Name())+until]
			if ours, here := f[saleFigure(sluiceName)+until]; there && here {
				f[ratio+b.Name()] = theirs / ours
			}
		}
	}
}

// promised judges the medians of the rounds.
func promised(all map[string]report.Spread) []report.Promise {
	promises := salePromises()
	for i, p := range promises {
		if s, ok := all[p.Name]; ok {
			promises[i] = p.Judge(s.Median)
		}
	}
	return promises
}
