package report

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/shared/sale"
)

//go:embed page.html.tmpl
var pageText string

// pageTemplate escapes whatever it is given by where it stands.
var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what the template shows.
type page struct {
	Name    string // of the run
	Written string
	Word    string // of the verdict
	Pass    bool

	Interrupted bool
	Violations  []sale.Violation
	Words       []string
	Tiles       []tile
	Matrix      *matrix   // of faults; nil for none
	First       []section // wide ones
	Figures     []figure
	Curves      []curveGroup
	Tables      []section
	Absent      []string // what was not measured
}

// tile is a number that is looked for first.
type tile struct{ Value, Text string }

type section struct {
	Title, Desc string
	Table       table
}

// page writes the report as one HTML document that needs nothing else: no script,
// no style sheet, no font, no image.
func (r Report) page(w io.Writer, name string, now time.Time) error {
	p := page{
		Name: name, Written: now.UTC().Format("2006-01-02 15:04 UTC"),
		Word: r.word(), Pass: r.Verdict.Pass, Interrupted: r.Interrupted, Violations: r.Verdict.Violations,
		Words: r.Words, Tiles: r.tiles(), Matrix: r.matrix(), First: r.firstTables(), Figures: r.figures(), Curves: r.curveGroups(), Absent: r.NotMeasured,
	}
	for _, s := range []struct {
		title string
		value any
	}{{"Orders", r.Orders}, {"Config", r.Config}, {"Machine", r.Machine}} {
		if s.value == (Orders{}) && len(r.Faults) > 0 {
			continue // rounds count none
		}
		rows, err := flatten(s.value)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			p.Tables = append(p.Tables, section{Title: s.title, Table: table{Rows: rows}})
		}
	}
	if err := pageTemplate.Execute(w, p); err != nil {
		return fmt.Errorf("cannot write page: %w", err)
	}
	return nil
}

// figures are the charts that there are numbers for.
func (r Report) figures() []figure {
	var all []figure
	if len(r.Funnel) > 0 {
		all = append(all, r.funnelFigure())
	}
	all = append(all, r.latencyFigures()...)
	if len(r.Timeline) > 0 {
		all = append(all, r.timeFigures()...)
	}
	if len(r.QueueWait.Buckets) > 0 {
		all = append(all, r.waitFigure())
	}
	for i, p := range r.Paces {
		if len(p.Samples) > 0 {
			all = append(all, p.figures(i)...)
		}
	}
	if len(r.Processes) > 0 {
		all = append(all, r.processFigure())
	}
	return all
}

func (r Report) tiles() []tile {
	var all []tile
	if len(r.Faults) > 0 {
		if all = r.faultTiles(); len(r.Funnel) == 0 {
			return all
		}
	}
	if names := layerNames(r.Funnel); len(names) > 0 {
		all = append(all, tile{count(r.Funnel[names[0]].Entered), "attempts"})
	}
	all = append(all, tile{count(int64(r.Orders.Total)), "orders"})
	for _, c := range []struct{ class, text string }{{"in_stock.accepted", "accepted in stock, p99"}, {"sold_out.sold_out", "refused as sold out, p99"}} {
		if l, found := r.Latency[c.class]; found && l.Count > 0 {
			all = append(all, tile{millis(l.P99), c.text})
		}
	}
	if r.QueueWait.Max > 0 {
		all = append(all, tile{inSeconds(r.QueueWait.P50), "queue wait, p50"}, tile{inSeconds(r.QueueWait.P99), "queue wait, p99"})
	}
	if r.DBWritesPerS > 0 {
		all = append(all, tile{count(int64(r.DBWritesPerS)), "database rows written a second"})
	}
	return all
}

// firstTables are what systems made of the same, what was promised and found, figures over
// the rounds, what the database wrote, and what else the run has for people.
func (r Report) firstTables() []section {
	var all []section
	compared := table{Head: comparedHead}
	for _, c := range r.Compared {
		compared.Rows = append(compared.Rows, c.Cells())
	}
	sold := table{Head: soldHead}
	for _, s := range r.Sold {
		sold.Rows = append(sold.Rows, s.Cells())
	}
	promises := table{Head: []string{"promise", "found", "held"}}
	for _, p := range r.Promises {
		promises.Rows = append(promises.Rows, []string{p.Text, p.Found(), p.Word()})
	}
	figures := table{Head: []string{"figure", "median", "min", "max"}}
	for _, name := range slices.Sorted(maps.Keys(r.Ratios)) {
		s := r.Ratios[name]
		figures.Rows = append(figures.Rows, []string{name, short(s.Median), short(s.Min), short(s.Max)})
	}
	mutants := table{Head: mutantHead}
	for _, m := range r.Mutants {
		mutants.Rows = append(mutants.Rows, m.Cells())
	}
	for _, s := range []section{{Title: "Protections taken away", Table: mutants}, {Title: "The same demand", Table: sold}, {Title: "Compared", Table: compared}, {Title: "Promises", Table: promises}, {Title: "Figures", Table: figures}, r.writesSection(), {Title: "Pauses", Desc: pausesText, Table: r.pauses()}} {
		if len(s.Table.Rows) > 0 {
			all = append(all, s)
		}
	}
	if len(r.Growths) > 0 {
		all = append(all, r.growthSection())
	}
	for _, t := range r.Tables {
		all = append(all, t.section())
	}
	return all
}

// flatten lists a value's JSON members as rows of path and value, by path.
func flatten(v any) ([][]string, error) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("cannot write page: %w", err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(encoded)))
	decoder.UseNumber()
	var members map[string]any
	if err := decoder.Decode(&members); err != nil {
		return nil, fmt.Errorf("cannot write page: %w", err)
	}
	return flattened("", members), nil
}

func flattened(prefix string, members map[string]any) [][]string {
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if deeper, ok := members[name].(map[string]any); ok {
			rows = append(rows, flattened(prefix+name+".", deeper)...)
			continue
		}
		rows = append(rows, []string{prefix + name, fmt.Sprint(members[name])})
	}
	return rows
}
