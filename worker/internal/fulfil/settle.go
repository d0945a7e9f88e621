package fulfil

import (
	"context"
	"fmt"

	"sluice/shared/sale"
)

// settler shows open orders on their tickets.
type settler interface {
	Settle(ctx context.Context, saleID string, epoch int64, settlements []sale.Settlement) (sale.Snapshot, []sale.Settled, error)
}

// show settles the open orders of a decided batch and tells about them. Those
// that cannot be settled now are left, durably, to the shown loop. Closed ones
// are shown by their release. An error means that neither could be done.
func (c *consumer) show(work context.Context, b Batch, verdicts []Verdict) error {
	open := openOf(verdicts)
	if len(open) < len(verdicts) {
		c.releases.poke()
	}
	if len(open) == 0 {
		return nil
	}
	settled, unsettled, err := c.settle(work, b, open)
	if len(unsettled) > 0 {
		if c.delays.Allow() {
			c.log.Warn("settle postponed", "epoch", b.Epoch, "reservations", len(unsettled), "error", err)
		}
		if err := c.stores.Orders.Unshow(work, unsettled); err != nil {
			return fmt.Errorf("cannot leave unsettled orders to the shown loop: %w", err)
		}
	}
	tell(c.stores.Hints, c.log, c.saleID, settled)
	return nil
}

// settle tries to settle once. err says why unsettled is not empty, unless the
// tickets are simply not there.
func (c *consumer) settle(work context.Context, b Batch, open []Verdict) (settled []sale.Result, unsettled []string, err error) {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	snapshot, results, err := c.stores.Stock.Settle(ctx, b.SaleID, b.Epoch, settlementsOf(open))
	if err == nil {
		c.progress.observe(snapshot)
	}
	for i, v := range open {
		if err != nil || results[i] == sale.SettleUnknown {
			unsettled = append(unsettled, v.RID)
			continue
		}
		c.metrics.settled.Inc()
		settled = append(settled, sale.Result{RID: v.RID, Status: v.State.TicketStatus(), PayBy: v.PayBy})
	}
	return settled, unsettled, err
}

func openOf(verdicts []Verdict) []Verdict {
	open := make([]Verdict, 0, len(verdicts))
	for _, v := range verdicts {
		if v.State == sale.OrderPending || v.State == sale.OrderPaid {
			open = append(open, v)
		}
	}
	return open
}

func settlementsOf(open []Verdict) []sale.Settlement {
	settlements := make([]sale.Settlement, len(open))
	for i, v := range open {
		settlements[i] = sale.Settlement{RID: v.RID, Status: v.State.TicketStatus(), PayBy: v.PayBy}
	}
	return settlements
}
