package report

import "fmt"

const (
	waitHeight = 200 // pixels
	waitTop    = 40
	waitBottom = 170
)

// waitFigure shows how many reservations waited for how long, and the quantiles.
func (r Report) waitFigure() figure {
	f := figure{
		ID: "queue-wait", Title: "Queue wait",
		Desc:   "Reservations by how long they waited from being accepted until their outcome.",
		Canvas: &canvas{Height: waitHeight},
		Table:  table{Head: []string{"waited", "reservations"}},
	}
	buckets := r.QueueWait.Buckets
	var most int64 = 1
	for _, b := range buckets {
		most = max(most, b.Count)
	}
	end, width := buckets[len(buckets)-1].UpTo, percent(100/float64(len(buckets)))
	from := 0.0
	for i, b := range buckets {
		height := (waitBottom - waitTop) * float64(b.Count) / float64(most)
		span := inSeconds(from) + " to " + inSeconds(b.UpTo)
		f.Canvas.rect(percent(i)*width, width*0.92, waitBottom-height, height, "on", span+": "+count(b.Count))
		f.Table.Rows = append(f.Table.Rows, []string{span, count(b.Count)})
		from = b.UpTo
	}
	f.Canvas.line(0, 100, waitBottom, waitBottom, "axis")
	for t := 0.0; t <= end*1.001; t += step(end, 5) {
		f.Canvas.text(percent(100*t/end), waitBottom+20, "tick", "%s", inSeconds(t))
	}
	f.Table.Rows = append(f.Table.Rows, r.QueueWait.quantiles(f.Canvas, end)...)
	return f
}

// quantiles draws them as marks above the bars, each on a line of its own because
// they may be close, and returns their rows.
func (q QueueWait) quantiles(c *canvas, end float64) [][]string {
	var rows [][]string
	for i, mark := range []struct {
		name  string
		value float64
	}{{"p99", q.P99}, {"p95", q.P95}, {"p50", q.P50}} {
		x, y := percent(100*mark.value/end), float64(11+12*i)
		c.line(x, x, y-9, waitBottom, "mark")
		side := "start"
		if x > 50 {
			side = "end"
		}
		c.Texts = append(c.Texts, text{X: x, Y: y, Anchor: side, Class: "tick " + side, Text: mark.name + " " + inSeconds(mark.value)})
		rows = append(rows, []string{mark.name, fmt.Sprintf("%.3f s", mark.value)})
	}
	return append(rows, []string{"max", fmt.Sprintf("%.3f s", q.Max)})
}
