package console

import "time"

const (
	historySpan = 10 * time.Minute
	maxPoints   = int(historySpan / lookEvery)
	maxSeries   = 256 // sales that have a history of their own: 24 KiB each
)

// point is what the charts show of one moment. What is not known is negative.
type point struct {
	at                int64 // unix milliseconds
	age               float32
	waiting           float32
	accepting, settle float32 // a second
	pace, p90, target float32 // of all sales' points only; p90 and target in milliseconds
}

// unknown stands in a point for what is not known: a gap in the chart.
const unknown = -1

// series is a ring of the newest points.
type series struct {
	points []point
	next   int
}

func (s *series) add(p point) {
	if len(s.points) < maxPoints {
		s.points = append(s.points, p)
		return
	}
	s.points[s.next] = p
	s.next = (s.next + 1) % maxPoints
}

// columns are a series as the charts take it, oldest first.
type columns struct {
	At        []int64    `json:"at"`
	Age       []*float32 `json:"age"`
	Waiting   []*float32 `json:"waiting"`
	Accepting []*float32 `json:"accepting"`
	Settling  []*float32 `json:"settling"`
	Pace      []*float32 `json:"pace,omitempty"`
	P90       []*float32 `json:"p90,omitempty"`
	Target    []*float32 `json:"target,omitempty"`
}

// since returns the points of the last ten minutes.
func (s *series) since(now time.Time, withPace bool) columns {
	c := columns{At: []int64{}, Age: []*float32{}, Waiting: []*float32{}, Accepting: []*float32{}, Settling: []*float32{}}
	from := now.Add(-historySpan).UnixMilli()
	for i := range s.points {
		p := s.points[(s.next+i)%len(s.points)]
		if p.at < from {
			continue
		}
		c.At = append(c.At, p.at)
		c.Age, c.Waiting = append(c.Age, known(p.age)), append(c.Waiting, known(p.waiting))
		c.Accepting, c.Settling = append(c.Accepting, known(p.accepting)), append(c.Settling, known(p.settle))
		if withPace {
			c.Pace, c.P90, c.Target = append(c.Pace, known(p.pace)), append(c.P90, known(p.p90)), append(c.Target, known(p.target))
		}
	}
	return c
}

// known is nil for what is not.
func known(v float32) *float32 {
	if v < 0 {
		return nil
	}
	return &v
}
