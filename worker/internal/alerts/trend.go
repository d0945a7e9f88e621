package alerts

import "time"

// growsOver is how far back a backlog is compared with.
const growsOver = 30 * time.Second

// trend remembers how much waited lately, to say whether it grows.
type trend struct {
	sales map[string][]waited
}

type waited struct {
	at time.Time
	n  int64
}

// note adds a look and returns the sales of which more wait than growsOver ago. A sale
// that is not in it is forgotten.
func (t *trend) note(backlog []Backlog, now time.Time) (grows map[string]bool) {
	grows = map[string]bool{}
	sales := make(map[string][]waited, len(backlog))
	for _, b := range backlog {
		points := append(t.sales[b.SaleID], waited{now, b.Waiting})
		for len(points) > 1 && now.Sub(points[1].at) >= growsOver { // the newest that is old enough stays
			points = points[1:]
		}
		grows[b.SaleID] = now.Sub(points[0].at) >= growsOver && b.Waiting > points[0].n
		sales[b.SaleID] = points
	}
	t.sales = sales
	return grows
}
