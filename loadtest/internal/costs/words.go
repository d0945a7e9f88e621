package costs

import (
	"fmt"
	"math"
	"strings"
	"time"

	"sluice/loadtest/internal/capacity"
	"sluice/loadtest/internal/report"
)

// costTable shows what operations cost.
func costTable(c capacity.Costs) report.Table {
	t := report.Table{Title: "What an operation costs", Text: "CPU time in µs of each kind of process, at one gateway and one worker. A call is a reserve call with its hand-over, whatever it carries; its cost is in the others already, for as many as travelled together. An accept is a script and a hand-over; a script is measured on attempts of buyers who have bought.",
		Head: []string{"operation"}}
	for _, kind := range capacity.Kinds() {
		t.Head = append(t.Head, string(kind))
	}
	t.Head = append(t.Head, "together")
	for _, row := range []struct {
		name string
		cost capacity.Cost
	}{{"refusal", c.Refusal}, {"script", c.Script}, {"hand-over", c.HandOver()}, {"accept", c.Accept}, {"order", c.Order}, {"poll", c.Poll}, {"call", c.Call}} {
		cells := []string{row.name}
		for _, kind := range capacity.Kinds() {
			cells = append(cells, micros(row.cost[kind]))
		}
		t.Rows = append(t.Rows, append(cells, micros(row.cost.Total())))
	}
	return t
}

// predictionTable shows what was predicted beside what was found.
func predictionTable(all []prediction) report.Table {
	t := report.Table{Title: "Predicted and found", Text: "The model was fitted with one gateway and one worker; these runs it had not seen. Above 0 % it promised too much.",
		Head: []string{"gateways and workers", "figure", "predicted", "found", "error"}}
	for _, p := range all {
		t.Rows = append(t.Rows, []string{fmt.Sprint(p.Size), p.text, amount(p.Predicted*p.scale) + " " + p.unit, amount(p.Found*p.scale) + " " + p.unit, fmt.Sprintf("%+.0f %%", 100*p.Error)})
	}
	return t
}

func fitWords(c capacity.Costs, f capacity.Fit, together float64) string {
	return fmt.Sprintf("At one gateway and one worker an accepted attempt and its order cost %.0f µs of CPU time, %.0f µs with the tool, %.0f of them travelling together; "+
		"%.1f of %.1f cores were busy. A call costs %.0f µs beside what it carries. A refusal costs %.1f µs.",
		1e6*(c.Accept.Total()+c.Order.Total()), 1e6*f.Rush.CPU, together, f.Rush.Busy, f.Cores, 1e6*f.Sharing.Call, 1e6*c.Refusal.Total())
}

func errorWords(all []prediction) string {
	if len(all) == 0 {
		return "No run was there to be predicted."
	}
	worst, within := all[0], 0
	for _, p := range all {
		if math.Abs(p.Error) > math.Abs(worst.Error) {
			worst = p
		}
		if math.Abs(p.Error) <= bound {
			within++
		}
	}
	return fmt.Sprintf("Of %d figures of runs that the model was not fitted on, it predicted %d within %.0f %%; the worst is off by %+.0f %% (%d gateways and workers: %s).",
		len(all), within, 100*bound, 100*worst.Error, worst.Size, worst.text)
}

// Explain adds an answer to a report, in words and as a table.
func Explain(rep *report.Report, a capacity.Answer) {
	if rep.Config == nil {
		rep.Config = make(map[string]any)
	}
	rep.Config["answer"] = a
	rep.Words = append(rep.Words, answerWords(a))
	rep.Tables = append(rep.Tables, stationTable(a))
}

func answerWords(a capacity.Answer) string {
	d := a.Demand
	return fmt.Sprintf("%s buyers in %s with %s attempts each, for %s units in %d sales, the hottest of which has %.0f %% of them: %s attempts a second. "+
		"Planned to be busy %.0f %% of the time, that takes %d gateways of %d cores, %d shards of Redis, %d servers of NATS, %d workers of %d cores and a Postgres of %d. "+
		"The last 202 comes after %s, the last order after %s; what binds is %s. %s attempts reach the script; a hand-over has %.0f reservations.",
		amount(d.Buyers), seconds(d.Seconds), amount(d.AttemptsPerBuyer), amount(d.Units), d.Sales, 100*d.Hottest, amount(a.PerSecond),
		100*d.Utilisation, a.Gateways, d.CoresPerGateway, a.Shards, a.Servers, a.Workers, d.CoresPerWorker, d.CoresOfPostgres,
		seconds(a.Accepting), seconds(a.UntilLast), a.Binds, amount(a.Scripts), a.Together)
}

func stationTable(a capacity.Answer) report.Table {
	t := report.Table{Title: "What a sale takes", Text: "Stations by the utilisation law: how many, how busy, how long each would take for its part if nothing else held it up, and the mean wait at it.",
		Head: []string{"station", "how many", "cores each", "operations a second", "busy cores", "time for all", "mean wait", "by"}}
	for _, s := range a.Stations {
		t.Rows = append(t.Rows, []string{s.Name, fmt.Sprint(s.Count), fmt.Sprint(s.Cores), amount(s.PerSecond), fmt.Sprintf("%.2f", s.Busy), seconds(s.Seconds), seconds(s.Wait), s.Formula})
	}
	return t
}

func micros(seconds float64) string { return fmt.Sprintf("%.2f", 1e6*seconds) }

func seconds(s float64) string {
	d := time.Duration(s * float64(time.Second))
	switch {
	case d >= 10*time.Second:
		return d.Round(time.Second).String()
	case d >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	default:
		return d.Round(time.Microsecond).String()
	}
}

// amount writes a number with as many digits as one reads, in groups of three.
func amount(v float64) string {
	if v != math.Trunc(v) && math.Abs(v) < 1000 {
		return fmt.Sprintf("%.3g", v)
	}
	digits := fmt.Sprintf("%.0f", v)
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, groups...), ",")
}
