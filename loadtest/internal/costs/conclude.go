package costs

import (
	"fmt"
	"math"
	"slices"

	"sluice/loadtest/internal/capacity"
	"sluice/loadtest/internal/report"
)

// bound is by how much a prediction may be wrong where it was not fitted.
const bound = 0.25

// prediction is a figure of a run that the model was not fitted on.
type prediction struct {
	Size      int     `json:"gateways_and_workers"`
	Figure    string  `json:"figure"`
	Predicted float64 `json:"predicted"`
	Found     float64 `json:"found"`
	Error     float64 `json:"error"` // above 0 where the prediction was too high
	text      string
	unit      string
	scale     float64 // from SI to the unit
}

// predict predicts all sizes that were measured, on the cores that they had.
func (c Config) predict(fit capacity.Fit, m medians, cpus int) (all []prediction) {
	for _, size := range c.Sizes {
		if !m.complete(c, size) {
			continue
		}
		rush := fit.PredictRush(size, m.cores(cpus, size, rushName(c.Connections)))
		refusals := fit.PredictRefusals(size, m.cores(cpus, size, opRefusal))
		foundRush, foundRefusals := m.rush(size, c.Connections), m.refusals(size)
		for _, p := range []prediction{
			{Figure: "accepts_per_s", text: "attempts accepted a second, orders made meanwhile", Predicted: rush.PerSecond, Found: foundRush.PerSecond, unit: "/s", scale: 1},
			{Figure: "accept_cpu", text: "CPU time of an attempt and its order, of the stack and the tool", Predicted: rush.CPU, Found: foundRush.CPU, unit: "µs", scale: 1e6},
			{Figure: "until_last_order", text: fmt.Sprintf("time from the first of %d attempts to the last order", c.Attempts), Predicted: rush.UntilLast, Found: foundRush.UntilLast, unit: "s", scale: 1},
			{Figure: "refusals_per_s", text: "refusals a second of a sale that is sold out", Predicted: refusals.PerSecond, Found: foundRefusals.PerSecond, unit: "/s", scale: 1},
			{Figure: "refusal_cpu", text: "CPU time of a refusal, of the stack and the tool", Predicted: refusals.CPU, Found: foundRefusals.CPU, unit: "µs", scale: 1e6},
		} {
			p.Size, p.Error = size, capacity.Error(p.Predicted, p.Found)
			all = append(all, p)
		}
	}
	return all
}

// promise judges how far a prediction is off, either way.
func (p prediction) promise() report.Promise {
	name := fmt.Sprintf("error_%d_%s", p.Size, p.Figure)
	text := fmt.Sprintf("error of the prediction for %d gateways and %d workers: %s", p.Size, p.Size, p.text)
	return report.Promise{Name: name, Text: text, Bound: bound}.Judge(math.Abs(p.Error))
}

// conclude fits the model, judges its predictions and answers the demand.
func (r *run) conclude() {
	m := mediansOf(r.rounds)
	r.rep.Config = map[string]any{"config": r.Config, "rounds": r.rounds}
	largest := slices.Max(append([]int{1}, r.Sizes...))
	r.rep.Leave(report.Setup{Rounds: r.Rounds, Gateways: largest, Workers: largest, Load: r.Stage, Connections: r.Connections})
	if !m.complete(r.Config, 1) {
		r.rep.Words = append(r.rep.Words, "What one gateway and one worker cost was not measured to its end: nothing is predicted.")
		return
	}
	measured, fit := m.costs(r.Config), m.fit(r.Config, r.rep.Machine.CPUs)
	predicted := r.predict(fit, m, r.rep.Machine.CPUs)
	r.rep.Config["costs"], r.rep.Config["fit"], r.rep.Config["predictions"] = measured, fit, predicted
	r.rep.Tables = append(r.rep.Tables, costTable(measured), predictionTable(predicted))
	for _, p := range predicted {
		r.rep.Promises = append(r.rep.Promises, p.promise())
	}
	r.rep.Words = append(r.rep.Words, fitWords(measured, fit, m.rush(1, r.Connections).Together), errorWords(predicted))
	if others := m[sized(1, figureOf(rushName(r.Connections), "others"))]; others > report.Quiet*float64(r.rep.Machine.CPUs) {
		r.rep.Words = append(r.rep.Words, fmt.Sprintf("The machine was not quiet: everything else used %.2f cores while the model was fitted. Predictions are for the cores that were left to each run; that costs rise where caches are shared is in the errors.", others))
	}
	Explain(&r.rep, capacity.Plan(r.Demand, measured))
}
