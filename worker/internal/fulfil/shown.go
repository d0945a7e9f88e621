package fulfil

import (
	"context"
	"log/slog"
	"time"

	"sluice/shared/sale"
)

const (
	shownEvery = time.Second
	shownPage  = 500 // orders of one sale in one call
)

// Unshown is an open order whose ticket does not show its state yet.
type Unshown struct {
	RID    string
	SaleID string
	Epoch  int64 // the sale's current one
	State  sale.OrderState
	PayBy  time.Time // zero when nothing is to be paid
}

// shownRows say which orders are still to be shown.
type shownRows interface {
	Unshown(ctx context.Context, limitPerSale int, except []string) ([]Unshown, error)
	// MarkShown leaves alone what has left state meanwhile.
	MarkShown(ctx context.Context, rids []string, state sale.OrderState) error
}

// shown settles, of all sales, what could not be settled when it was ordered.
type shown struct {
	rows    shownRows
	stock   settler
	hints   resultHints
	metrics *Metrics
	log     *slog.Logger
}

func newShown(rows shownRows, stock settler, h resultHints, metrics *Metrics, log *slog.Logger) *owed[Unshown] {
	s := &shown{rows: rows, stock: stock, hints: h, metrics: metrics, log: log}
	return newOwed(debt[Unshown]{
		name: "orders", every: shownEvery, page: shownPage, read: rows.Unshown,
		key:   func(u Unshown) saleEpoch { return saleEpoch{u.SaleID, u.Epoch} },
		apply: s.settle,
	}, log)
}

func (s *shown) settle(ctx context.Context, key saleEpoch, rows []Unshown) (missing []string, err error) {
	settlements := make([]sale.Settlement, len(rows))
	for i, u := range rows {
		settlements[i] = sale.Settlement{RID: u.RID, Status: u.State.TicketStatus(), PayBy: u.PayBy}
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, results, err := s.stock.Settle(call, key.saleID, key.epoch, settlements)
	if err != nil {
		return nil, err
	}
	var told []sale.Result
	settled := map[sale.OrderState][]string{}
	for i, result := range results {
		if result == sale.SettleUnknown {
			missing = append(missing, rows[i].RID)
			continue
		}
		settled[rows[i].State] = append(settled[rows[i].State], rows[i].RID)
		told = append(told, sale.Result{RID: rows[i].RID, Status: settlements[i].Status, PayBy: rows[i].PayBy})
	}
	for state, rids := range settled {
		if err := s.rows.MarkShown(ctx, rids, state); err != nil {
			return nil, err // settled again, to no effect
		}
	}
	s.metrics.settled.Add(float64(len(told)))
	tell(s.hints, s.log, key.saleID, told)
	return missing, nil
}
