package report

// Curve is a figure at several sizes of one thing, such as open sales or gateways.
type Curve struct {
	Name   string       `json:"name"`   // of the figure: sales_accepts_per_s
	Over   string       `json:"over"`   // what grows: open sales
	Figure string       `json:"figure"` // what is measured, with its unit: accepted attempts a second
	Points []CurvePoint `json:"points"` // by size
}

// CurvePoint is the figure at one size, over the rounds.
type CurvePoint struct {
	Size float64 `json:"size"`
	Spread
}
