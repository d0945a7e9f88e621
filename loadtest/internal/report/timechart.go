package report

import (
	"fmt"
	"math"
)

const (
	timeHeight = 220 // pixels
	timeTop    = 26
	timeBottom = 190
)

// series is one line of a chart over time.
type series struct {
	class, name string
	value       func(Sample) int64
}

// timeFigures show the sale over time, as Redis had it.
func (r Report) timeFigures() []figure {
	return []figure{
		r.timeFigure("stock", "Stock over time", "Units in Redis, in seconds since the sale opened.", []series{
			{"s1", "stock", func(s Sample) int64 { return s.Stock }},
			{"s2", "accepted", func(s Sample) int64 { return s.Accepted }},
			{"s3", "served", func(s Sample) int64 { return s.Served }},
		}),
		r.timeFigure("queue", "Queue over time", "Reservations without an outcome, and those that JetStream has not acknowledged yet.", []series{
			{"s1", "waiting for an outcome", func(s Sample) int64 { return s.Accepted - s.Served }},
			{"s4", "waiting for JetStream", func(s Sample) int64 { return s.HandOff }},
		}),
	}
}

func (r Report) timeFigure(id, title, desc string, all []series) figure {
	f := figure{ID: id, Title: title, Desc: desc, Canvas: &canvas{Height: timeHeight}, Table: table{Head: []string{"t (s)"}}}
	axes := r.timeAxes(all)
	axes.draw(f.Canvas)
	for _, line := range all {
		f.Legend = append(f.Legend, key{line.class, line.name})
		f.Table.Head = append(f.Table.Head, line.name)
		xs, ys := make([]percent, len(r.Timeline)), make([]float64, len(r.Timeline))
		for i, s := range r.Timeline {
			xs[i], ys[i] = axes.x(s.T), axes.y(float64(line.value(s)))
		}
		f.Canvas.curve(line.class, xs, ys)
	}
	for _, s := range r.Timeline {
		row := []string{fmt.Sprintf("%.2f", s.T)}
		for _, line := range all {
			row = append(row, count(line.value(s)))
		}
		f.Table.Rows = append(f.Table.Rows, row)
	}
	return f
}

// axes are from the first sample to the last, and from zero to a little above the
// highest value.
type axes struct{ from, to, top float64 }

func (r Report) timeAxes(all []series) axes {
	a := axes{from: r.Timeline[0].T, to: r.Timeline[len(r.Timeline)-1].T, top: 1}
	for _, s := range r.Timeline {
		for _, line := range all {
			a.top = max(a.top, float64(line.value(s)))
		}
	}
	a.to = max(a.to, a.from+1)
	return a
}

func (a axes) x(t float64) percent { return percent(100 * (t - a.from) / (a.to - a.from)) }

func (a axes) y(v float64) float64 {
	return timeBottom - (timeBottom-timeTop)*max(0, v)/a.top
}

func (a axes) draw(c *canvas) {
	height := max(1, step(a.top, 4)) // whole units
	for v := 0.0; v <= a.top; v += height {
		c.line(0, 100, a.y(v), a.y(v), "grid")
		if v > 0 {
			c.text(0, a.y(v)-4, "tick", "%s", count(int64(v)))
		}
	}
	width := step(a.to-a.from, 6)
	for t := math.Ceil(a.from/width) * width; t <= a.to; t += width {
		c.line(a.x(t), a.x(t), timeBottom, timeBottom+5, "axis")
		c.text(a.x(t), timeBottom+20, "tick", "%s s", short(t+0)) // not −0
	}
	if a.from < 0 && a.to > 0 {
		c.line(a.x(0), a.x(0), timeTop-10, timeBottom, "axis")
		c.text(a.x(0), timeTop-14, "tick", "opens")
	}
}
