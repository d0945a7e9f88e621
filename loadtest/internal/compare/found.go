package compare

import (
	"fmt"
	"strings"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// warmSuffix ends the ids of sales that are not measured.
const warmSuffix = "warm-up"

// partOf is the part that one of Sluice's sales belongs to, "" for one that warms up.
func partOf(saleID string) string {
	word, _, _ := strings.Cut(saleID, "-")
	switch {
	case strings.HasSuffix(saleID, warmSuffix):
		return ""
	case word == "round":
		return PartIncident
	case word == "sale":
		return PartSale
	default:
		return PartClaims
	}
}

// audited is what judge and audit found in Sluice's sales of one part.
type audited struct {
	report.Found
	sales, broken int
}

// wrongWith fails the verdict for a sale of Sluice's.
func (r *run) wrongWith(saleID, invariant, format string, args ...any) {
	r.rep.Fail(invariant, "sale %s: %s", saleID, fmt.Sprintf(format, args...))
	r.of(saleID).broken++
}

func (r *run) of(saleID string) *audited {
	part := partOf(saleID)
	if r.audited[part] == nil {
		r.audited[part] = &audited{}
	}
	return r.audited[part]
}

func (r *run) audits(saleID string, e sale.Evidence) {
	a := r.of(saleID)
	a.Found = a.Plus(collect.Found(e))
	a.sales++
}

// verdictOn says what judge and audit found of a part with so many sales; nothing is claimed
// of what was not audited.
func (r *run) verdictOn(part string, sales int, scale string) string {
	a := r.audited[part]
	switch {
	case a == nil || a.sales < sales:
		return "not all of its sales were audited"
	case a.broken > 0 || a.Oversold > 0 || a.Doubles > 0:
		return "see the violations"
	default:
		return "no oversell and no double in " + scale
	}
}

// verdicts are those of the parts that ran, as the tables end with them.
func (r *run) verdicts() map[string]string {
	return map[string]string{
		PartSale:     r.verdictOn(PartSale, r.Sale.Rounds, r.Sale.scale()),
		PartIncident: r.verdictOn(PartIncident, r.Rounds*len(r.Sizes), r.scale()),
	}
}

// words say what was found in the sale of goods, or else to the crowd, and what was not
// measured. They come before the funnel, which is of all parts together.
func (r *run) words(rep *report.Report) {
	setup := report.Setup{Rounds: r.Rounds, Gateways: len(r.Stack.Gateways), Workers: len(r.Stack.Workers)}
	switch {
	case r.ran(PartSale):
		setup.Rounds, setup.Connections = r.Sale.Rounds, r.Sale.Connections/saleGateways
		rep.Say(r.inARound(PartSale, r.Sale.Rounds, report.Found{Rounds: r.Sale.Rounds, Buyers: int64(r.Sale.Buyers), Attempts: int64(r.Sale.attempts()), Units: int64(r.Sale.Units)}))
	case r.ran(PartIncident):
		f := report.Found{Rounds: r.Rounds, Buyers: int64(r.Claimers), Attempts: int64(r.Claimers * r.Clicks * len(r.Sizes))}
		for _, s := range r.Sizes {
			f.Units += int64(s.Total)
		}
		rep.Say(r.inARound(PartIncident, r.Rounds*len(r.Sizes), f))
	}
	if r.ran(PartSale) && r.ran(PartIncident) {
		rep.Words = append(rep.Words, fmt.Sprintf("Coupons: %s.", r.verdicts()[PartIncident]))
	}
	rep.Words = append(rep.Words, r.trouble...)
	rep.Leave(setup)
}

// inARound is what was found in all rounds, of which each has the scale. Without the audit
// of all sales there is nothing to say of units.
func (r *run) inARound(part string, sales int, scale report.Found) report.Found {
	a := r.audited[part]
	if a == nil || a.sales < sales {
		scale.Units = 0
		return scale
	}
	f := a.Found
	f.Rounds, f.Buyers, f.Attempts, f.Units = scale.Rounds, scale.Buyers, scale.Attempts, scale.Units
	return f
}
