package funnel

import (
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

// Verifier says whom a bearer token belongs to. It does no I/O.
type Verifier interface {
	Verify(token string, now time.Time) (auth.Identity, error)
}

// identify is the layer that knows who is asking.
func (f *Funnel) identify(token string, now time.Time) (auth.Identity, Result) {
	f.exits.Enter(sale.LayerToken)
	id, err := f.verifier.Verify(token, now)
	if err != nil {
		return id, Result{Outcome: sale.Unauthenticated, Layer: sale.LayerToken}
	}
	return id, Result{}
}
