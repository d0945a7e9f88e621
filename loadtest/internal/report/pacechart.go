package report

import (
	"fmt"
	"slices"
)

const (
	limitTop    = 208 // pixels: a strip below the time axis
	limitHeight = 12
	paceHeight  = limitTop + limitHeight + 8
)

// limits are what can hold a pace, and their colours.
var limits = []key{
	{"on", "pace"}, {"refused", "demand"}, {"won", "consumers"}, {"fault", "latency"}, {"l5", "ceiling"}, {"l6", "errors"},
}

// figures show how workers paced themselves over time: what they did, and how long their
// commits took; below each, by what they were limited.
func (p Pace) figures(n int) []figure {
	beyond := p.beyond()
	shares := []paceSeries{
		{"s1", "orders a second", func(s PaceSample) (float64, bool) { return s.OrdersPerS, true }},
		{"s2", "pace", func(s PaceSample) (float64, bool) { return min(s.PacePerS, beyond), s.Told }},
	}
	for i, class := range []string{"s3", "s4"} {
		if p.workers() > 1 {
			shares = append(shares, paceSeries{class, fmt.Sprintf("worker %d", i+1), func(s PaceSample) (float64, bool) {
				if i < len(s.Shares) {
					return s.Shares[i], true
				}
				return 0, false
			}})
		}
	}
	return []figure{
		p.figure(fmt.Sprintf("pace-%d", n), "Pace: "+p.Name, p.Text+" Orders a second, and the pace that workers allow themselves, up to twice the most that they made; in seconds.", shares),
		p.figure(fmt.Sprintf("p90-%d", n), "Commits: "+p.Name, p.Text+" How long 90 of 100 order transactions take at most, in milliseconds.", []paceSeries{
			{"s1", "p90 as the worker has it", func(s PaceSample) (float64, bool) { return s.P90, s.Told }},
			{"s2", "its target", func(s PaceSample) (float64, bool) { return s.Target, s.Told }},
			{"s4", "p90 by the histogram", func(s PaceSample) (float64, bool) { return s.CommitP90, s.CommitP90 > 0 }},
		}),
	}
}

// paceSeries is one line of a chart; its value may be unknown.
type paceSeries struct {
	class, name string
	value       func(PaceSample) (float64, bool)
}

// beyond is a pace that is so far above what was made that it limited nothing: where in
// the chart is not worth the room.
func (p Pace) beyond() float64 {
	most := 1.0
	for _, s := range p.Samples {
		most = max(most, s.OrdersPerS)
	}
	return 2 * most
}

func (p Pace) workers() (n int) {
	for _, s := range p.Samples {
		n = max(n, len(s.Shares))
	}
	return n
}

func (p Pace) figure(id, title, desc string, all []paceSeries) figure {
	f := figure{ID: id, Title: title, Desc: desc, Canvas: &canvas{Height: paceHeight}, Table: table{Head: []string{"t (s)"}}}
	a := p.axes(all)
	a.draw(f.Canvas)
	for _, line := range all {
		f.Legend = append(f.Legend, key{line.class, line.name})
		f.Table.Head = append(f.Table.Head, line.name)
		p.curves(f.Canvas, a, line)
	}
	f.Table.Head = append(f.Table.Head, "limited by")
	for _, s := range p.Samples {
		row := []string{fmt.Sprintf("%.1f", s.T)}
		for _, line := range all {
			row = append(row, cell(line.value(s)))
		}
		f.Table.Rows = append(f.Table.Rows, append(row, s.LimitedBy))
	}
	f.Legend = append(f.Legend, p.limits(f.Canvas, a)...)
	p.marks(f.Canvas, a)
	return f
}

func cell(value float64, known bool) string {
	if !known {
		return ""
	}
	return short(value)
}

func (p Pace) axes(all []paceSeries) axes {
	a := axes{from: min(0, p.Samples[0].T), to: p.Samples[len(p.Samples)-1].T, top: 1}
	var values []float64
	for _, s := range p.Samples {
		for _, line := range all {
			if v, known := line.value(s); known {
				values = append(values, v)
			}
		}
	}
	if len(values) > 0 {
		slices.Sort(values)
		// One far beyond all others, such as a setting that is to be no limit, would make a flat line of them.
		a.top = max(1, min(values[len(values)-1], 2*values[len(values)*9/10]))
	}
	a.to = max(a.to, a.from+1)
	return a
}

// curves draws a line in pieces, where it is known.
func (p Pace) curves(c *canvas, a axes, line paceSeries) {
	var xs []percent
	var ys []float64
	flush := func() {
		if len(xs) > 1 {
			c.curve(line.class, xs, ys)
		}
		xs, ys = nil, nil
	}
	for _, s := range p.Samples {
		v, known := line.value(s)
		if !known {
			flush()
			continue
		}
		xs, ys = append(xs, a.x(s.T)), append(ys, a.y(min(v, a.top)))
	}
	flush()
}

// limits draws the strip of what the pace was limited by, and explains what is in it.
func (p Pace) limits(c *canvas, a axes) []key {
	var found []key
	for i := 0; i < len(p.Samples); {
		from, by := i, p.Samples[i].LimitedBy
		for i < len(p.Samples) && p.Samples[i].LimitedBy == by {
			i++
		}
		at := slices.IndexFunc(limits, func(k key) bool { return k.Text == by })
		if at < 0 {
			continue
		}
		began, class := a.from, limits[at].Class
		if from > 0 {
			began = p.Samples[from-1].T
		}
		c.rect(a.x(began), max(0, a.x(p.Samples[i-1].T)-a.x(began)), limitTop+8, limitHeight, class, "limited by "+by)
		if explained := (key{class, "limited by " + by}); !slices.Contains(found, explained) {
			found = append(found, explained)
		}
	}
	return found
}

// marks shows what was done to the workers, the texts on lines of their own because they
// may be close.
func (p Pace) marks(c *canvas, a axes) {
	for i, m := range p.Marks {
		x, y := a.x(max(a.from, min(m.T, a.to))), float64(10+11*(i%3))
		c.line(x, x, y-8, timeBottom, "mark")
		side := "start"
		if x > 75 {
			side = "end"
		}
		c.Texts = append(c.Texts, text{X: x, Y: y, Anchor: side, Class: "tick " + side, Text: m.Text})
	}
}
