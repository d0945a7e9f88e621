package report

import (
	"fmt"
	"slices"
	"strings"
)

// Growth is how much of something was in use over time, and whether it is flat.
type Growth struct {
	Name     string        `json:"name"` // gateway-0 memory
	Unit     string        `json:"unit"` // "" for a number
	Kept     string        `json:"kept"` // why it grows with what is done, and is not judged; "" if it must not
	Points   []GrowthPoint `json:"points"`
	Judged   bool          `json:"judged"`
	Readings int           `json:"readings"` // in the second half of the run, which is what follows is about
	Median   float64       `json:"median"`   //
	Grew     float64       `json:"grew"`     // by the Theil–Sen slope, from its begin to its end
	May      float64       `json:"may_grow"` // by so much
	Flat     bool          `json:"flat"`
}

// GrowthPoint is one reading, T seconds after the run began.
type GrowthPoint struct {
	T     float64 `json:"t"`
	Value float64 `json:"value"`
}

func (g Growth) word() string {
	switch {
	case g.Kept != "":
		return "kept, and not judged"
	case !g.Judged:
		return "too few readings"
	case g.Flat:
		return "flat"
	default:
		return "GROWS"
	}
}

const ofGrowths = "In seconds since the first attempt; a dashed line is where something was broken on purpose."

func (r Report) growthSection() section {
	s := section{Title: "In use", Desc: "Over the second half of the run: the median, by how much it grew, which is the Theil–Sen slope (the median of the slopes of all pairs of readings) times the time, and by how much it may: a fifth of the median, a tenth where connections, goroutines, descriptors or consumers are counted, or what comes and goes.",
		Table: table{Head: []string{"what", "unit", "median", "grew by", "may grow by", "verdict"}}}
	for _, g := range r.Growths {
		s.Table.Rows = append(s.Table.Rows, []string{g.Name, g.Unit, number(g.Median), number(g.Grew), number(g.May), g.word()})
	}
	return s
}

// growthGroups show what was in use over time, a small chart each, those of one kind
// together. What never changed is in the table alone.
func (r Report) growthGroups() []curveGroup {
	var groups []curveGroup
	for i, g := range r.Growths {
		if !g.changes() {
			continue
		}
		kind := g.kind()
		at := slices.IndexFunc(groups, func(known curveGroup) bool { return known.Title == kind })
		if at < 0 {
			at, groups = len(groups), append(groups, curveGroup{Title: kind, Text: ofGrowths})
		}
		groups[at].Figures = append(groups[at].Figures, g.figure(i, r.Marks))
	}
	return groups
}

func (g Growth) changes() bool {
	return slices.ContainsFunc(g.Points, func(p GrowthPoint) bool { return p.Value != g.Points[0].Value })
}

// kind is what is in use, without who has it.
func (g Growth) kind() string {
	kind := "tables"
	if !strings.HasPrefix(g.Name, "table ") {
		kind = g.Name[strings.LastIndexByte(g.Name, ' ')+1:]
	}
	kind = "In use over time: " + kind
	if g.Unit != "" {
		kind += ", " + g.Unit
	}
	return kind
}

const (
	growthDrawn  = 240 // points of a chart
	growthListed = 40  // rows of its table
)

func (g Growth) figure(n int, marks []Mark) figure {
	f := figure{
		ID: fmt.Sprintf("growth-%d", n), Title: g.Name, Desc: fmt.Sprintf("%s over time, in seconds: %s.", g.Name, g.word()), Brief: true,
		Canvas: &canvas{Height: curveHeight}, Table: table{Head: []string{"t (s)", g.Name}},
	}
	a := growthAxesOf(g.Points)
	a.draw(f.Canvas, marks)
	var xs []percent
	var ys []float64
	for _, p := range thinned(g.Points, growthDrawn) {
		xs, ys = append(xs, a.x(p.T)), append(ys, a.y(p.Value))
	}
	f.Canvas.curve("s1", xs, ys)
	for _, p := range thinned(g.Points, growthListed) {
		f.Table.Rows = append(f.Table.Rows, []string{short(p.T), number(p.Value)})
	}
	return f
}

// thinned are at most so many points, evenly, the last among them.
func thinned(points []GrowthPoint, most int) []GrowthPoint {
	if len(points) <= most {
		return points
	}
	thin := make([]GrowthPoint, most)
	for i := range thin {
		thin[i] = points[(i+1)*len(points)/most-1]
	}
	return thin
}

// growthAxes are from the first reading to the last, and from zero to the highest.
type growthAxes struct {
	curveAxes
	from, to float64
}

func growthAxesOf(points []GrowthPoint) growthAxes {
	a := growthAxes{from: points[0].T, to: points[len(points)-1].T}
	for _, p := range points {
		a.top = max(a.top, p.Value)
	}
	if a.top <= 0 {
		a.top = 1
	}
	a.to = max(a.to, a.from+1)
	return a
}

func (a growthAxes) x(t float64) percent {
	return percent(curveLeft + (curveRight-curveLeft)*(t-a.from)/(a.to-a.from))
}

// draw draws the scales, and a line where something was done to the run.
func (a growthAxes) draw(c *canvas, marks []Mark) {
	height := step(a.top, 4)
	for i := 0; float64(i)*height <= a.top*1.001; i++ {
		v := float64(i) * height
		c.line(0, 100, a.y(v), a.y(v), "grid")
		if i > 0 {
			c.text(0, a.y(v)-4, "tick", "%s", compact(v))
		}
	}
	c.line(0, 100, curveBottom, curveBottom, "axis")
	width := step(a.to-a.from, 4)
	for t := width; t <= a.to; t += width {
		c.line(a.x(t), a.x(t), curveBottom, curveBottom+5, "axis")
		c.text(a.x(t), curveBottom+20, "tick", "%s s", compact(t))
	}
	for _, m := range marks {
		if m.T >= a.from && m.T <= a.to {
			c.line(a.x(m.T), a.x(m.T), curveTop, curveBottom, "mark")
		}
	}
}

// GrowthWords say what grows though it must not, and how much was flat.
func (r Report) GrowthWords() (words []string) {
	var flat, kept, unjudged int
	var grows []string
	for _, g := range r.Growths {
		switch {
		case g.Kept != "":
			kept++
		case !g.Judged:
			unjudged++
		case g.Flat:
			flat++
		default:
			grows = append(grows, g.Name)
		}
	}
	words = append(words, fmt.Sprintf("%d things in use were flat over the second half, %d are kept and grow with what is sold, %d had too few readings.", flat, kept, unjudged))
	if len(grows) > 0 {
		words = append(words, "Grew: "+strings.Join(grows, ", ")+".")
	}
	return words
}
