package funnel

import (
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// eligible judges a buyer by the token's claims; the reserve script looks at the
// allow list.
func eligible(s *catalog.Sale, c sale.Claims, now time.Time) sale.Refusal {
	return s.Entry().Eligibility.Check(c, s.Now(now))
}
