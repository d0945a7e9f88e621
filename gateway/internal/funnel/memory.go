package funnel

import (
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// Memory is the layer that refuses by what the gateway knows by heart: the way
// that nearly every attempt of a sold-out sale leaves. It does no I/O and does
// not allocate.
func (f *Funnel) Memory(s *catalog.Sale, now time.Time) (sale.Outcome, bool) {
	f.exits.Enter(sale.LayerMemory)
	outcome, refused := s.Refusal(now)
	if refused {
		f.exits.Leave(sale.LayerMemory, outcome)
	}
	return outcome, refused
}
