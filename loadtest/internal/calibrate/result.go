package calibrate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"sluice/loadtest/internal/campaign"
	"sluice/loadtest/internal/report"
)

// Result is what a calibration found.
type Result struct {
	Report report.Report
	Limits *Limits // recommended; nil when no rate passed
	rows   [][]string
}

// result puts the report together.
func (r *run) result() Result {
	res := Result{Limits: r.limits, rows: r.rows()}
	rep := &res.Report
	rep.Verdict.Pass = true
	rep.Machine = report.ThisMachine()
	rep.Processes, rep.Orders = r.used.all(), r.orders
	rep.Words = r.words()
	if r.limits != nil {
		rep.Tables = append(rep.Tables, r.limits.table())
	}
	rep.Tables = append(rep.Tables, report.Table{Title: "Rates tried", Text: "Each rate until two of its tries agree, in order; then floods of gateways with the recommended limits.", Head: head, Rows: res.rows})
	rep.Leave(report.Setup{Rounds: agree, Gateways: len(r.Stack.Gateways), Workers: len(r.Stack.Workers), Load: r.Lasts, Connections: r.Connections})
	rep.NotMeasured = append(rep.NotMeasured, fmt.Sprintf("Orders: a rate passes by what buyers are answered. Workers order what was accepted at their own pace; between two tries they had up to %s to catch up. What Postgres bears is found by loadtest pace.", r.Rest))
	rep.NotMeasured = append(rep.NotMeasured, "Lost, oversold and doubled orders: no sale was audited. The verdict is whether the calibration came to its end.")
	rep.NotMeasured = append(rep.NotMeasured, unjudged(r.tries)...)
	rep.Curves = r.curves()
	rep.Config = map[string]any{"calibrate": r.Config, "tries": r.tries, "found": r.found, "capacity": r.capacity, "limits": r.limits, "confirmed": r.confirmed, "floods": r.floods}
	if passed := r.passed(r.found.Pass); len(passed) > 0 {
		rep.Latency = passed[len(passed)-1].latency
	}
	if r.broken {
		rep.Fail("scenario", "%s", r.ended)
	}
	if r.limits != nil {
		rep.Config["command"] = r.limits.Pasted()
	}
	if r.confirmed != nil {
		rep.Promises = r.confirmed.promises(r.P99)
	}
	return res
}

func (r *run) words() []string {
	words := append([]string{}, r.bound...)
	if r.ended != "" {
		words = append(words, fmt.Sprintf("The calibration did not come to its end: %s. What follows is what was known by then.", r.ended))
	}
	words = append(words, Summary(r.found, r.capacity)...)
	words = append(words, noise(r.tries)...)
	if r.limits == nil {
		return words
	}
	words = append(words, r.limits.Refusals()...)
	return append(words, r.confirmation()...)
}

// table is what to set, for people.
func (l Limits) table() report.Table {
	return report.Table{
		Title: "What to set", Text: "As flags or as environment, on each of " + l.gateways() + ", which has to be started again.",
		Head: []string{"as", "to set"},
		Rows: [][]string{{"flags", l.Pasted()}, {"environment", strings.Join(l.Env(), " ") + l.remark()}},
	}
}

// unjudged names the classes whose p99 was not judged, and in how many tries.
func unjudged(tries []Try) (words []string) {
	without := make(map[string]int)
	for _, t := range tries {
		for _, class := range t.Few {
			without[class]++
		}
	}
	for _, class := range slices.Sorted(maps.Keys(without)) {
		words = append(words, fmt.Sprintf("p99 of %s in %d of %d tries, which had fewer than %d answers of it: a longer -duration or a higher -start has more.", class, without[class], len(tries), leastAnswers))
	}
	return words
}

// noise says what else took the machine while rates were tried.
func noise(tries []Try) []string {
	var used, cpus float64
	for _, t := range tries {
		used += t.Usage.Others()
		cpus += float64(t.Usage.CPUs)
	}
	if used <= report.Quiet*cpus {
		return nil
	}
	n := float64(len(tries))
	return []string{fmt.Sprintf("The machine was not quiet: neither stack nor tool, but something else used %.1f of its %.0f cores meanwhile. What was found is what was left.", used/n, cpus/n)}
}

// head are the headings of rows.
var head = []string{"attempts a second", "reached admission a second", "p50", "p99", "class with that p99", "refused by overload", "limit", "cores: stack, tool, else", "verdict", "rate decided"}

// rows are every rate tried, in order, the floods last.
func (r *run) rows() [][]string {
	tries := slices.Clone(r.tries)
	for _, flood := range r.floods {
		said := fmt.Sprintf("with limits, %g × %s", flood.Times, flood.Decided)
		flood.Decided = Verdict(strings.TrimSpace(said))
		tries = append(tries, flood.Try)
	}
	rows := make([][]string, len(tries))
	for i, t := range tries {
		rows[i] = []string{count(t.PerSecond), count(t.Admission), ms(t.P50), ms(t.P99), t.Class, refused(t.Refused), t.Limit, cores(t.Usage), string(t.Verdict), string(t.Decided)}
	}
	return rows
}

func cores(u campaign.Usage) string {
	return fmt.Sprintf("%.2f, %.2f, %.2f", u.Stack, u.Tool, u.Others())
}

func refused(by map[string]int) string {
	if len(by) == 0 {
		return "0"
	}
	parts := make([]string, 0, len(by))
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d %s", by[name], name))
	}
	return strings.Join(parts, ", ")
}

// curves show p99 by rate, of the tries that say something of the server.
func (r *run) curves() []report.Curve {
	values := make(map[float64][]float64)
	for _, t := range r.tries {
		if t.Verdict != Unclear && t.Class != "" {
			values[t.PerSecond] = append(values[t.PerSecond], t.P99)
		}
	}
	curve := report.Curve{Name: "p99_ms", Over: "attempts a second", Figure: "p99 of in-stock attempts, in ms"}
	for _, perSecond := range slices.Sorted(maps.Keys(values)) {
		curve.Points = append(curve.Points, report.CurvePoint{Size: perSecond, Spread: report.SpreadOf(values[perSecond])})
	}
	if len(curve.Points) == 0 {
		return nil
	}
	return []report.Curve{curve}
}

// Print prints every rate that was tried, what was found in words, and what was not
// measured.
func (res Result) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) // the Flush below reports a failure
	fmt.Fprintf(t, "\n%s\n", strings.Join(head, "\t"))
	for _, row := range res.rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	if err := printLists(w, res); err != nil {
		return err
	}
	if err := res.Report.PrintPromises(w); err != nil {
		return err
	}
	if res.Limits == nil {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\non each of %s:\n\n  %s\n\n", res.Limits.gateways(), res.Limits.Pasted()); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	return nil
}

func printLists(w io.Writer, res Result) error {
	text := []byte("\n")
	for _, line := range res.Report.Words {
		text = fmt.Appendf(text, "- %s\n", line)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("cannot print report: %w", err)
	}
	return res.Report.PrintNotMeasured(w)
}
