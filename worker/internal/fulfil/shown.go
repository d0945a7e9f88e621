package fulfil

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
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
	loop    loop
	faults  service.Quiet
	unknown unknown
}

func newShown(rows shownRows, stock settler, h resultHints, metrics *Metrics, log *slog.Logger) *shown {
	return &shown{rows: rows, stock: stock, hints: h, metrics: metrics, log: log, loop: newLoop()}
}

func (s *shown) run(ctx context.Context) {
	s.loop.run(ctx, shownEvery, func() {
		if err := s.settleAll(ctx); err != nil && ctx.Err() == nil && s.faults.Allow() {
			s.log.Warn("showing postponed", "error", err)
		}
	})
}

// settleAll settles one page of every sale.
func (s *shown) settleAll(ctx context.Context) error {
	unshown, err := s.rows.Unshown(ctx, shownPage, s.unknown.passOver(time.Now()))
	if err != nil {
		return err
	}
	var faults []error
	for key, group := range groupBy(unshown, func(u Unshown) saleEpoch { return saleEpoch{u.SaleID, u.Epoch} }) {
		more, err := s.settle(ctx, key, group)
		faults = append(faults, err)
		if more {
			s.loop.poke()
		}
	}
	return errors.Join(faults...)
}

// settle settles a group; more says that its page was full and the next one is another.
func (s *shown) settle(ctx context.Context, key saleEpoch, group []Unshown) (more bool, err error) {
	settlements := make([]sale.Settlement, len(group))
	for i, u := range group {
		settlements[i] = sale.Settlement{RID: u.RID, Status: u.State.TicketStatus(), PayBy: u.PayBy}
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, results, err := s.stock.Settle(call, key.saleID, key.epoch, settlements)
	if err != nil {
		return false, err
	}
	var told []sale.Result
	progress := false
	settled := map[sale.OrderState][]string{}
	for i, result := range results {
		if result == sale.SettleUnknown {
			progress = s.unknown.add(group[i].RID) || progress
			continue
		}
		progress = true
		settled[group[i].State] = append(settled[group[i].State], group[i].RID)
		told = append(told, sale.Result{RID: group[i].RID, Status: settlements[i].Status, PayBy: group[i].PayBy})
	}
	for state, rids := range settled {
		if err := s.rows.MarkShown(ctx, rids, state); err != nil {
			return false, err // settled again, to no effect
		}
	}
	s.metrics.settled.Add(float64(len(told)))
	tell(s.hints, s.log, key.saleID, told)
	var fault error
	if unknown := len(group) - len(told); unknown > 0 {
		fault = fmt.Errorf("sale %s has no ticket in redis for %d orders", key.saleID, unknown)
	}
	return progress && len(group) == shownPage, fault
}
