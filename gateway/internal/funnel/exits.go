package funnel

import (
	"github.com/prometheus/client_golang/prometheus"
	"sluice/shared/sale"
)

// Exits counts how attempts enter and leave the layers. Counting is one atomic
// addition: every label is resolved at the start.
type Exits struct {
	entered []prometheus.Counter
	left    [][]prometheus.Counter
}

// NewExits registers the funnel's counters.
func NewExits(reg prometheus.Registerer) *Exits {
	entered := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_funnel_entered_total", Help: "Attempts that entered a layer.",
	}, []string{"layer"})
	left := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_funnel_exits_total", Help: "Attempts that left the funnel at a layer, by outcome.",
	}, []string{"layer", "outcome"})
	reg.MustRegister(entered, left)
	e := &Exits{}
	for _, layer := range sale.Layers() {
		e.entered = append(e.entered, entered.WithLabelValues(layer.String()))
		row := make([]prometheus.Counter, 0, len(sale.Outcomes()))
		for _, o := range sale.Outcomes() {
			row = append(row, left.WithLabelValues(layer.String(), o.String()))
		}
		e.left = append(e.left, row)
	}
	return e
}

// Enter counts an attempt into a layer.
func (e *Exits) Enter(l sale.Layer) { e.entered[l].Inc() }

// Leave counts an attempt out of the funnel.
func (e *Exits) Leave(l sale.Layer, o sale.Outcome) { e.left[l][o].Inc() }
