package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/shared/sale"
)

const (
	funnelRow = 46 // pixels
	funnelBar = 16
)

// funnelFigure shows what entered each layer, what left it there, and what it
// passed on.
func (r Report) funnelFigure() figure {
	f := figure{
		ID: "funnel", Title: "Funnel",
		Desc:   "Attempts that entered each layer; what left there, and what passed on to the next.",
		Legend: []key{{"on", "passed on"}, {"won", "left with a ticket"}, {"refused", "refused"}, {"fault", "not served: busy, paused, unavailable"}},
		Table:  table{Head: []string{"layer", "entered", "left here", "passed on", "exits"}},
	}
	names := layerNames(r.Funnel)
	f.Canvas = &canvas{Height: funnelRow * len(names)}
	var most int64 = 1
	for _, l := range r.Funnel {
		most = max(most, l.Entered)
	}
	for i, name := range names {
		l := r.Funnel[name]
		f.Canvas.layer(float64(i*funnelRow), name, l, most)
		f.Table.Rows = append(f.Table.Rows, []string{name, count(l.Entered), count(l.left()), count(l.Entered - l.left()), exits(l.Exits)})
	}
	return f
}

// layerNames are the layers recorded, in the funnel's order, unknown ones last.
func layerNames(funnel map[string]Layer) []string {
	var names []string
	for _, layer := range sale.Layers() {
		if _, ok := funnel[layer.String()]; ok {
			names = append(names, layer.String())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(funnel)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// left is how many attempts left the funnel at this layer.
func (l Layer) left() int64 {
	var n int64
	for _, exit := range l.Exits {
		n += exit
	}
	return n
}

// layer draws one layer's bar below its name and numbers.
func (c *canvas) layer(y float64, name string, l Layer, most int64) {
	on := l.Entered - l.left()
	c.text(0, y+14, "label", "%s", name)
	c.text(100, y+14, "value", "%s in · %s on", count(l.Entered), count(on))
	c.rect(0, 100, y+21, funnelBar, "track", "")
	x := percent(0)
	segment := func(class, what string, n int64) {
		if n <= 0 {
			return
		}
		width := percent(100 * float64(n) / float64(most))
		c.rect(x, width, y+21, funnelBar, class, fmt.Sprintf("%s: %s %s", name, what, count(n)))
		x += width
	}
	segment("on", "passed on", on)
	for _, class := range []string{"won", "refused", "fault"} {
		for _, exit := range taken(l.Exits) {
			if exitClass(exit) == class {
				segment(class, exit, l.Exits[exit])
			}
		}
	}
}

// taken lists the exits that were taken, the most used first.
func taken(counts map[string]int64) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(counts)), func(name string) bool { return counts[name] == 0 })
	slices.SortStableFunc(names, func(a, b string) int { return int(counts[b] - counts[a]) })
	return names
}

// exits lists the exits that were taken, with their numbers.
func exits(counts map[string]int64) string {
	names := taken(counts)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, counts[name])
	}
	return strings.Join(names, ", ")
}

func exitClass(outcome string) string {
	switch outcome {
	case sale.Accepted.String(), sale.Confirmed.String(), sale.Replay.String():
		return "won"
	case sale.Busy.String(), sale.Paused.String(), sale.Unavailable.String():
		return "fault"
	default:
		return "refused"
	}
}
