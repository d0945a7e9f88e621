package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sluice/loadtest/internal/record"
)

const (
	latencyRow  = 42 // pixels
	latencyAxis = 24
)

// latencyTitles are headings of the classes of one prefix, in their order.
var latencyTitles = []struct{ prefix, title, desc string }{
	{"in_stock", "Latency in stock", "Answers to attempts while there was stock, from the moment each was due."},
	{"sold_out", "Latency sold out", "Answers to attempts once the sale was known to be sold out, from the moment each was due."},
	{"early", "Latency before the opening", "Answers to attempts that came too early, from the moment each was due."},
	{"poll", "Latency of polls", "Reads of tickets by buyers who ask again when they are told to."},
	{"ticket", "Latency of ticket reads", "Reads of tickets: read is answered at once, held is answered once there is news."},
}

// latencyFigures shows latencies, a figure for each prefix of class names, on a scale of
// its own.
func (r Report) latencyFigures() []figure {
	groups := make(map[string][]string)
	for _, class := range slices.Sorted(maps.Keys(r.Latency)) {
		prefix, _, _ := strings.Cut(class, ".")
		groups[prefix] = append(groups[prefix], class)
	}
	var figures []figure
	for _, t := range latencyTitles {
		if classes := groups[t.prefix]; classes != nil {
			figures = append(figures, r.latencyFigure(t.title, t.desc, classes))
			delete(groups, t.prefix)
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(groups)) {
		figures = append(figures, r.latencyFigure("Latency: "+prefix, "Latencies of "+prefix+".", groups[prefix]))
	}
	for i := range figures {
		figures[i].ID = fmt.Sprintf("latency-%d", i)
	}
	return figures
}

func (r Report) latencyFigure(title, desc string, classes []string) figure {
	scale := logScaleOf(r.Latency, classes)
	f := figure{
		Title: title, Desc: desc + " The scale is logarithmic, and this chart's own.",
		Legend: []key{{"body", "p50 to p95"}, {"tail", "p95 to p99"}, {"most", "the slowest"}},
		Canvas: &canvas{Height: latencyRow*len(classes) + latencyAxis},
		Table:  table{Head: []string{"class", "count", "p50 ms", "p95 ms", "p99 ms", "max ms"}},
	}
	scale.draw(f.Canvas)
	for i, class := range classes {
		s := r.Latency[class]
		f.Canvas.latency(float64(i*latencyRow), class, s, scale)
		row := []string{class, count(s.Count)}
		for _, ms := range []float64{s.P50, s.P95, s.P99, s.Max} {
			row = append(row, fmt.Sprintf("%.3f", ms))
		}
		f.Table.Rows = append(f.Table.Rows, row)
	}
	return f
}

// latency draws one class: a thick bar for most answers, a thin one for the slow,
// a mark for the slowest.
func (c *canvas) latency(y float64, class string, s record.Summary, scale logScale) {
	_, name, found := strings.Cut(class, ".")
	if !found {
		name = class
	}
	c.text(0, y+14, "label", "%s", name)
	c.text(100, y+14, "value", "p50 %s · p99 %s", millis(s.P50), millis(s.P99))
	tip := fmt.Sprintf("%s: %s answers, p50 %s, p95 %s, p99 %s, max %s", class, count(s.Count), millis(s.P50), millis(s.P95), millis(s.P99), millis(s.Max))
	p50, p95, p99, most := scale.at(s.P50), scale.at(s.P95), scale.at(s.P99), scale.at(s.Max)
	c.rect(p95, p99-p95, y+24, 4, "tail", tip)
	c.rect(p50, max(p95-p50, 0.6), y+21, 10, "body", tip)
	c.Dots = append(c.Dots, dot{X: most, Y: y + 26, Class: "most", Tip: tip})
}

// logScale maps milliseconds to percent, by powers of ten.
type logScale struct{ low, high int }

func logScaleOf(latencies map[string]record.Summary, classes []string) logScale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, class := range classes {
		s := latencies[class]
		low, high = min(low, max(s.P50, 0.01)), max(high, s.Max, 0.01)
	}
	if low > high {
		return logScale{0, 1}
	}
	scale := logScale{int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))}
	scale.high = max(scale.high, scale.low+1)
	return scale
}

// at leaves some room on both sides for marks.
func (s logScale) at(ms float64) percent {
	exponent := math.Log10(max(ms, math.Pow10(s.low)))
	return percent(1 + 98*min(1, (exponent-float64(s.low))/float64(s.high-s.low)))
}

func (s logScale) draw(c *canvas) {
	bottom := float64(c.Height - latencyAxis)
	mark := func(ms float64) {
		c.line(s.at(ms), s.at(ms), 0, bottom+4, "grid")
		c.text(s.at(ms), bottom+18, "tick", "%s", millis(ms))
	}
	for exponent := s.low; exponent <= s.high; exponent++ {
		mark(math.Pow10(exponent))
		if s.high-s.low == 1 && exponent < s.high { // there is room for marks between
			mark(2 * math.Pow10(exponent))
			mark(5 * math.Pow10(exponent))
		}
	}
}
