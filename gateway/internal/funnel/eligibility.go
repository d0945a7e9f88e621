package funnel

import (
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

// judge is the layer that compares a token's claims with what the sale asks for.
// The reserve script looks at the allow list.
func (f *Funnel) judge(s *catalog.Sale, id auth.Identity, now time.Time) Result {
	f.exits.Enter(sale.LayerEligibility)
	refusal := s.Entry().Eligibility.Check(id.Claims, s.Now(now))
	if refusal != sale.Eligible {
		return Result{Outcome: sale.NotEligible, Layer: sale.LayerEligibility, Refusal: refusal}
	}
	return Result{}
}
