package report

import (
	"fmt"
	"io"
	"strings"
)

// Pause is how long a sale stood still after something was killed.
type Pause struct {
	Of       string  `json:"of"`        // what was killed
	AcceptsS float64 `json:"accepts_s"` // seconds, from the kill on, of the longest time without an attempt answered 202
	OrdersS  float64 `json:"orders_s"`  // of the longest time without an order
}

const pausesText = "The longest time, from each kill on, in which no attempt was answered 202, and in which no order was made."

// pauses of all rounds.
func (r Report) pauses() table {
	t := table{Head: []string{"killed", "seed", "until attempts were accepted again", "until orders were made again"}}
	for _, f := range r.Faults {
		for _, p := range f.Pauses {
			t.Rows = append(t.Rows, []string{p.Of, fmt.Sprint(f.Seed), inSeconds(p.AcceptsS), inSeconds(p.OrdersS)})
		}
	}
	return t
}

// PrintPauses prints a line for each, if there were any.
func (r Report) PrintPauses(w io.Writer) error {
	t := r.pauses()
	if len(t.Rows) == 0 {
		return nil
	}
	return printTable(w, strings.Join(t.Head, "\t"), func(row func(string, ...any)) {
		for _, cells := range t.Rows {
			row("%s", strings.Join(cells, "\t"))
		}
	})
}
