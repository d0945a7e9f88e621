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
	Name       string // of the run
	Written    string
	Pass       bool
	Violations []sale.Violation
	Tiles      []tile
	Figures    []figure
	Tables     []section
}

// tile is a number that is looked for first.
type tile struct{ Value, Text string }

type section struct {
	Title string
	Table table
}

// page writes the report as one HTML document that needs nothing else: no script,
// no style sheet, no font, no image.
func (r Report) page(w io.Writer, name string, now time.Time) error {
	p := page{
		Name: name, Written: now.UTC().Format("2006-01-02 15:04 UTC"),
		Pass: r.Verdict.Pass, Violations: r.Verdict.Violations,
		Tiles: r.tiles(), Figures: r.figures(),
	}
	p.Tables = append(p.Tables, r.figureTables()...)
	for _, s := range []struct {
		title string
		value any
	}{{"Orders", r.Orders}, {"Config", r.Config}, {"Machine", r.Machine}} {
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
	return all
}

func (r Report) tiles() []tile {
	var all []tile
	if names := layerNames(r.Funnel); len(names) > 0 {
		all = append(all, tile{count(r.Funnel[names[0]].Entered), "attempts"})
	}
	all = append(all, tile{count(int64(r.Orders.Total)), "orders"})
	if r.QueueWait.Max > 0 {
		all = append(all, tile{inSeconds(r.QueueWait.P50), "queue wait, p50"}, tile{inSeconds(r.QueueWait.P99), "queue wait, p99"})
	}
	if r.DBWritesPerS > 0 {
		all = append(all, tile{count(int64(r.DBWritesPerS)), "database rows written a second"})
	}
	return all
}

// figureTables are what was promised and found, and figures over the rounds.
func (r Report) figureTables() []section {
	var all []section
	promises := table{Head: []string{"promise", "found", "held"}}
	for _, p := range r.Promises {
		promises.Rows = append(promises.Rows, []string{p.Text, p.Found(), p.Word()})
	}
	figures := table{Head: []string{"figure", "median", "min", "max"}}
	for _, name := range slices.Sorted(maps.Keys(r.Ratios)) {
		s := r.Ratios[name]
		figures.Rows = append(figures.Rows, []string{name, short(s.Median), short(s.Min), short(s.Max)})
	}
	for _, s := range []section{{"Promises", promises}, {"Figures", figures}} {
		if len(s.Table.Rows) > 0 {
			all = append(all, s)
		}
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
