package compare

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// restPatience is for a sale's stores to agree after the last claim.
const restPatience = 20 * time.Second

// audit compares the stores sale by sale, with what claimers were told, and measures
// how long claims waited.
func (r *run) audit(ctx context.Context) error {
	r.say("auditing %d sales", len(r.order))
	waits := make(map[string][]sale.Ticket)
	for _, id := range r.order {
		e, verdict, slow, err := r.Stores.AuditToRest(ctx, id, r.winners[id].Seen(), restPatience)
		if err != nil {
			return err
		}
		if slow {
			r.trouble = append(r.trouble, fmt.Sprintf("Sale %s had not come to rest, and is judged as a sale under way.", id))
		}
		for _, v := range verdict.Violations {
			r.wrongWith(id, v.Invariant, "%s", v.Detail)
		}
		r.audits(id, e)
		if partOf(id) == "" {
			continue
		}
		r.rep.Orders = r.rep.Orders.Plus(report.CountOrders(e.Orders))
		r.tickets = append(r.tickets, e.Redis.Tickets...)
		figures := waitFigures(id)
		waits[figures] = append(waits[figures], e.Redis.Tickets...)
	}
	delete(waits, "")
	for part, tickets := range waits {
		wait := collect.ClaimWait(tickets)
		r.rounds = append(r.rounds, figures{part + "_until_held_p95_ms": wait.P95 * 1000, part + "_until_held_p99_ms": wait.P99 * 1000})
	}
	return nil
}

// waitFigures names the figures that a sale's waits belong to, "" for none.
func waitFigures(saleID string) string {
	switch words := strings.Split(saleID, "-"); words[0] {
	case "claims":
		return "claims_" + words[1]
	case "cold":
		return "claims_cold"
	case "round":
		return sluiceName
	default: // goods
		return ""
	}
}
