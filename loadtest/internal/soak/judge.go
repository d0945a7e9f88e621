package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// noteAudit takes the verdict on a sale in.
func (r *run) noteAudit(g *goods, e sale.Evidence, verdict sale.Verdict) {
	orders := report.CountOrders(e.Orders)
	r.say("%s audited: %d orders of %d units, %d paid, %d expired; %d violations", g.id, orders.Total, e.Total, orders.Paid, orders.Expired, len(verdict.Violations))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.audited++
	r.rep.Orders = r.rep.Orders.Plus(orders)
	for _, v := range verdict.Violations {
		r.rep.Fail(v.Invariant, "sale %s: %s", g.id, v.Detail)
	}
}

// judgeFlat says of everything that was read whether it grew.
func (r *run) judgeFlat(w *watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, q := range w.quantities {
		g := judgeSeries(q, w.readings[q.name], r.Lasts)
		r.rep.Growths = append(r.rep.Growths, g)
		if g.Judged && !g.Flat {
			r.rep.Fail("I12", "%s grew by %.1f %s over the second half, where it was %.1f: it may by %.1f", g.Name, g.Grew, g.Unit, g.Median, g.May)
		}
	}
	if names := unread(mustRead(r.Gateways, r.Workers), r.rep.Growths); len(names) > 0 {
		r.rep.Fail("scenario", "not read as often as is needed to judge it, %d times in the second half: %s", leastReadings, strings.Join(names, ", "))
	}
	if len(w.missed) > 0 {
		var words []string
		for _, what := range slices.Sorted(maps.Keys(w.missed)) {
			words = append(words, fmt.Sprintf("%s %d times", what, w.missed[what]))
		}
		r.rep.Words = append(r.rep.Words, "Not to be read while it was down, slow or cut off: "+strings.Join(words, ", ")+".")
	}
}

// mayMiss is the part of attempts that may come before the first sale is open, or to a
// gateway that has just been started.
const mayMiss = 0.1

// conclude says what the soak did.
func (r *run) conclude() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rep.Orders.Paid == 0 || r.rep.Orders.Expired == 0 || len(r.marks) == 0 {
		r.rep.Fail("scenario", "nothing was shown: %d orders were paid, %d expired, %d things broke", r.rep.Orders.Paid, r.rep.Orders.Expired, len(r.marks))
	}
	attempts := 0
	for _, n := range r.outcomes {
		attempts += n
	}
	if nowhere := r.outcomes[sale.NoSuchSale.String()]; float64(nowhere) > mayMiss*float64(attempts) {
		r.rep.Fail("I9", "%d of %d attempts found no sale", nowhere, attempts)
	}
	var broke []string
	for _, m := range r.marks {
		broke = append(broke, fmt.Sprintf("%s at %.0f s", m.Text, m.T))
	}
	var answers []string
	for _, outcome := range slices.Sorted(maps.Keys(r.outcomes)) {
		answers = append(answers, fmt.Sprintf("%s %d", outcome, r.outcomes[outcome]))
	}
	r.rep.Marks = r.marks
	if r.rehearsal != "" {
		r.rep.Words = append([]string{r.rehearsal}, r.rep.Words...)
	}
	r.rep.Words = append([]string{
		fmt.Sprintf("%s at %.0f attempts a second, half of %.0f: %d sales came and were audited, %d orders, %d of them paid.", r.Lasts, r.perSecond, r.Capacity, r.audited, r.rep.Orders.Total, r.rep.Orders.Paid),
		"Attempts were answered: " + strings.Join(answers, ", ") + ".",
		"Broken on purpose: " + strings.Join(broke, ", ") + ".",
	}, append(r.rep.GrowthWords(), r.rep.Words...)...)
	r.rep.Config = map[string]any{"minutes": r.Lasts.Minutes(), "capacity_per_s": r.Capacity, "per_second": r.perSecond, "seed": r.Seed,
		"gateways": r.Gateways, "workers": r.Workers, "retention_s": r.retention().Seconds()}
}
