package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// figure is one chart of the page and the table behind it.
type figure struct {
	ID, Title, Desc string
	Brief           bool // the description is for those who do not see the chart
	Legend          []key
	Canvas          *canvas
	Table           table
}

// key explains a class of shapes.
type key struct{ Class, Text string }

type table struct {
	Head []string
	Rows [][]string // the first cell of each names the row
}

// canvas is a chart: as wide as there is room, so that horizontal places are
// percentages, and Height pixels high. Text keeps its size on every screen.
type canvas struct {
	Height int
	Rects  []rect
	Lines  []line
	Curves []curve
	Dots   []dot
	Texts  []text
}

type rect struct {
	X, Width  percent
	Y, Height float64
	Class     string
	Tip       string // shown to whoever points at it
}

type line struct {
	X1, X2 percent
	Y1, Y2 float64
	Class  string
}

type dot struct {
	X     percent
	Y     float64
	Class string
	Tip   string
}

type text struct {
	X      percent
	Y      float64
	Anchor string
	Class  string
	Text   string
}

// curve is a line through points, over the whole width.
type curve struct {
	Points string // in a box curveWidth wide and as high as the canvas
	Class  string
}

const curveWidth = 1000

// percent of a canvas's width.
type percent float64

// String writes it as an attribute's value.
func (p percent) String() string {
	return strconv.FormatFloat(math.Round(float64(p)*100)/100, 'f', -1, 64) + "%"
}

func (c *canvas) text(x percent, y float64, class, format string, args ...any) {
	anchor := "middle"
	switch {
	case x < 4:
		x, anchor = 0, "start"
	case x > 96:
		x, anchor = 100, "end"
	}
	c.Texts = append(c.Texts, text{X: x, Y: y, Anchor: anchor, Class: class, Text: fmt.Sprintf(format, args...)})
}

func (c *canvas) rect(x, width percent, y, height float64, class, tip string) {
	c.Rects = append(c.Rects, rect{X: x, Width: width, Y: y, Height: height, Class: class, Tip: tip})
}

func (c *canvas) line(x1, x2 percent, y1, y2 float64, class string) {
	c.Lines = append(c.Lines, line{X1: x1, X2: x2, Y1: y1, Y2: y2, Class: class})
}

// curve adds a line through points given as percent and pixels.
func (c *canvas) curve(class string, xs []percent, ys []float64) {
	points := make([]string, len(xs))
	for i := range xs {
		points[i] = fmt.Sprintf("%.1f,%.1f", float64(xs[i])*curveWidth/100, ys[i])
	}
	c.Curves = append(c.Curves, curve{Points: strings.Join(points, " "), Class: class})
}

// count writes a number with its thousands apart.
func count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// millis writes milliseconds in the unit that people would.
func millis(ms float64) string {
	switch {
	case ms >= 1000:
		return short(ms/1000) + " s"
	case ms >= 1 || ms == 0:
		return short(ms) + " ms"
	default:
		return short(ms*1000) + " µs"
	}
}

func inSeconds(s float64) string { return millis(s * float64(time.Second/time.Millisecond)) }

// short writes a number with three figures at most, if it has no more before its point.
func short(v float64) string {
	places := 2
	for limit := 10.0; math.Abs(v) >= limit && places > 0; limit *= 10 {
		places--
	}
	for limit := 0.1; v != 0 && math.Abs(v) < limit && places < 6; limit /= 10 {
		places++
	}
	s := strconv.FormatFloat(v, 'f', places, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// step is a round distance between about n marks from 0 to top.
func step(top float64, n int) float64 {
	if top <= 0 {
		return 1
	}
	raw := top / float64(n)
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*base >= raw {
			return factor * base
		}
	}
	return 10 * base
}
