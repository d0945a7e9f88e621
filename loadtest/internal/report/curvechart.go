package report

import (
	"fmt"
	"math"
	"slices"
)

const (
	curveHeight = 170 // pixels
	curveTop    = 14
	curveBottom = 140
	curveLeft   = 14 // percent, where the smallest size is: left of it are the numbers of the scale
	curveRight  = 94
	curveApart  = 15 // between two sizes that both have their number
)

// curveGroup are small charts that belong together.
type curveGroup struct {
	Title, Text string
	Figures     []figure
}

const ofCurves = "Sizes are on a logarithmic scale. A point is the median of the rounds, the bar through it from the least to the most."

// curveGroups show figures by size, a small chart each.
func (r Report) curveGroups() []curveGroup {
	var groups []curveGroup
	for i, c := range r.Curves {
		if len(c.Points) == 0 {
			continue
		}
		title := "By " + c.Over
		at := slices.IndexFunc(groups, func(g curveGroup) bool { return g.Title == title })
		if at < 0 {
			at, groups = len(groups), append(groups, curveGroup{Title: title, Text: ofCurves})
		}
		groups[at].Figures = append(groups[at].Figures, c.figure(i))
	}
	return append(groups, r.growthGroups()...)
}

func (c Curve) figure(n int) figure {
	f := figure{
		ID: fmt.Sprintf("curve-%d", n), Title: c.Figure, Desc: c.Figure + " by " + c.Over + ", whose scale is logarithmic: the median of the rounds, and from the least to the most.", Brief: true,
		Canvas: &canvas{Height: curveHeight}, Table: table{Head: []string{c.Over, "median", "min", "max"}},
	}
	points := slices.Clone(c.Points)
	slices.SortFunc(points, func(a, b CurvePoint) int { return int(math.Copysign(1, a.Size-b.Size)) })
	a := curveAxesOf(points)
	a.draw(f.Canvas, points)
	xs, ys := make([]percent, len(points)), make([]float64, len(points))
	for i, p := range points {
		xs[i], ys[i] = a.x(p.Size), a.y(p.Median)
		tip := fmt.Sprintf("%s: %s (%s to %s)", number(p.Size), number(p.Median), number(p.Min), number(p.Max))
		f.Canvas.line(xs[i], xs[i], a.y(p.Max), a.y(p.Min), "range")
		f.Canvas.Dots = append(f.Canvas.Dots, dot{X: xs[i], Y: ys[i], Class: "point", Tip: tip})
		f.Table.Rows = append(f.Table.Rows, []string{number(p.Size), number(p.Median), number(p.Min), number(p.Max)})
	}
	f.Canvas.curve("s1", xs, ys)
	return f
}

// curveAxes are from the smallest size to the largest, by powers, and from zero to the
// most that was measured.
type curveAxes struct{ low, high, top float64 }

func curveAxesOf(points []CurvePoint) curveAxes {
	a := curveAxes{low: math.Log(positive(points[0].Size)), high: math.Log(positive(points[len(points)-1].Size))}
	for _, p := range points {
		a.top = max(a.top, p.Max, p.Median)
	}
	if a.top <= 0 {
		a.top = 1
	}
	return a
}

// positive is a size that has a logarithm.
func positive(size float64) float64 { return max(size, math.SmallestNonzeroFloat32) }

func (a curveAxes) x(size float64) percent {
	if a.high <= a.low {
		return (curveLeft + curveRight) / 2
	}
	return percent(curveLeft + (curveRight-curveLeft)*(math.Log(positive(size))-a.low)/(a.high-a.low))
}

func (a curveAxes) y(v float64) float64 {
	return curveBottom - (curveBottom-curveTop)*max(0, v)/a.top
}

func (a curveAxes) draw(c *canvas, points []CurvePoint) {
	height := step(a.top, 4)
	for i := 0; float64(i)*height <= a.top*1.001; i++ {
		v := float64(i) * height
		c.line(0, 100, a.y(v), a.y(v), "grid")
		if i > 0 {
			c.text(0, a.y(v)-4, "tick", "%s", compact(v))
		}
	}
	c.line(0, 100, curveBottom, curveBottom, "axis")
	last := percent(-curveApart)
	for _, p := range points {
		x := a.x(p.Size)
		c.line(x, x, curveBottom, curveBottom+5, "axis")
		if x-last >= curveApart {
			c.text(x, curveBottom+20, "tick", "%s", compact(p.Size))
			last = x
		}
	}
}

// number writes a value of any size.
func number(v float64) string {
	if math.Abs(v) >= 1000 {
		return count(int64(math.Round(v)))
	}
	return short(v)
}

// compact writes it where there is little room.
func compact(v float64) string {
	switch size := math.Abs(v); {
	case size >= 1e6:
		return short(v/1e6) + "M"
	case size >= 1e3:
		return short(v/1e3) + "k"
	default:
		return short(v)
	}
}
