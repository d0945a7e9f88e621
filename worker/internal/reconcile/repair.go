package reconcile

import (
	"context"
	"fmt"
	"slices"

	"sluice/shared/sale"
)

// repair puts right what is proven, marks those findings as repaired, and says whether
// there were any. What has moved since the look is left to the next run.
func (r *Reconciler) repair(ctx context.Context, l look, findings []sale.Finding, last sale.Reconciliation) (repaired bool, err error) {
	stock, kinds := l.snapshot.Stock, []string{}
	for _, f := range findings {
		switch {
		case f.Kind == StockHigh, f.Kind == StockLow && l.atRest() && sawLow(last, f):
			stock = l.holdings.Free()
			kinds = append(kinds, f.Kind)
		case f.Kind == SoldOutFlag:
			kinds = append(kinds, f.Kind)
		}
	}
	if len(kinds) == 0 {
		return false, nil
	}
	if err := r.hit(Reconciled); err != nil {
		return false, err
	}
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	snap, done, err := r.stock.Correct(call, l.snapshot, l.handOff.Count, stock)
	if err != nil {
		return false, fmt.Errorf("cannot repair sale %s: %w", l.holdings.Entry.ID, err)
	}
	if !done {
		return false, nil
	}
	_ = r.stream.NotifySnapshot(snap) // gateways that miss it read the sale again within a second
	for i, f := range findings {
		if slices.Contains(kinds, f.Kind) {
			findings[i].Repaired = true
			r.metrics.repaired.WithLabelValues(f.Kind).Inc()
		}
	}
	r.log.Warn("redis repaired", "sale", snap.SaleID, "kinds", kinds, "stock_before", l.snapshot.Stock, "stock", snap.Stock, "sold_out", snap.SoldOut)
	return true, nil
}

// sawLow says that the run before saw the same stock missing, at rest too: to raise a
// stock one look, however careful, is not enough.
func sawLow(last sale.Reconciliation, f sale.Finding) bool {
	return last.AtRest && slices.ContainsFunc(last.Findings, func(o sale.Finding) bool {
		return o.Kind == StockLow && o.Amount == f.Amount && !o.Repaired
	})
}
