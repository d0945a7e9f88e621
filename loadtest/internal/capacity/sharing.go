package capacity

// Sharing is what an attempt costs, in CPU seconds: what is its own, and what the call costs
// that it shares with those that travel with it.
type Sharing struct {
	Own  float64 `json:"own_seconds"`
	Call float64 `json:"call_seconds"`
}

// Shared is one measurement: what an attempt cost, and how many travelled together.
type Shared struct {
	Together float64 // attempts in a call, on average; at least one
	Cost     float64 // CPU seconds of an attempt
}

// FitSharing is the least-squares line of cost over calls for an attempt (1/Together). Neither
// part is below nothing: where the line says so, the other explains all. No measurements are
// no costs; one, or several with equal company, are all own.
func FitSharing(measured []Shared) Sharing {
	var n, x, y, xx, xy float64
	for _, m := range measured {
		calls := 1 / max(1, m.Together)
		n, x, y, xx, xy = n+1, x+calls, y+m.Cost, xx+calls*calls, xy+calls*m.Cost
	}
	if n == 0 {
		return Sharing{}
	}
	slope := 0.0
	if spread := n*xx - x*x; spread > 1e-12 {
		slope = (n*xy - x*y) / spread
	}
	switch own := (y - slope*x) / n; {
	case slope <= 0:
		return Sharing{Own: y / n}
	case own < 0:
		return Sharing{Call: xy / xx}
	default:
		return Sharing{Own: own, Call: slope}
	}
}

// At is what an attempt costs that travels with so many, itself included.
func (s Sharing) At(together float64) float64 { return s.Own + s.Call/max(1, together) }

// Company is how many attempts travel together for each connection that a closed loop has to
// one gateway: the line through the origin that fits best. Those who wait for a call are a part
// of those who are there.
type Company float64

// Gathered is one measurement of a closed loop.
type Gathered struct{ Connections, Together float64 }

// FitCompany fits the line.
func FitCompany(measured []Gathered) Company {
	var xx, xy float64
	for _, m := range measured {
		xx, xy = xx+m.Connections*m.Connections, xy+m.Connections*m.Together
	}
	if xx == 0 {
		return 0
	}
	return Company(xy / xx)
}

// At is how many travel together over so many connections.
func (c Company) At(connections float64) float64 { return max(1, float64(c)*connections) }
