package ledger

import (
	"cmp"
	"maps"
	"slices"

	"sluice/shared/sale"
)

// BeginAdjustment implements Truth. What was begun under the id before comes back.
func (p *Postgres) BeginAdjustment(a sale.Adjustment) (row sale.AdjustmentRow, epoch int64, ok bool) {
	if row, there := p.adjustments[a.ID]; there {
		return row, p.entry.Epoch, true
	}
	if p.entry.Epoch == 0 || p.entry.Rebuilding {
		return row, 0, false
	}
	row = sale.AdjustmentRow{Adjustment: a, State: sale.AdjustmentIntended}
	if a.Delta > 0 {
		row.State = sale.AdjustmentCounted
		p.total += a.Delta
	} else if p.off[DecreaseRedisFirst] && p.total+a.Delta >= p.held {
		p.total += a.Delta
	}
	p.adjustments[a.ID] = row
	return row, p.entry.Epoch, true
}

// UnfinishedAdjustments implements Truth.
func (p *Postgres) UnfinishedAdjustments() (rows []sale.AdjustmentRow, epoch int64) {
	if p.entry.Rebuilding {
		return nil, 0
	}
	for _, id := range slices.Sorted(maps.Keys(p.adjustments)) {
		if row := p.adjustments[id]; !row.State.Finished() {
			rows = append(rows, row)
		}
	}
	return rows, p.entry.Epoch
}

// FinishAdjustment implements Truth. A decrease that was decided at an epoch that is over
// is to be decided anew.
func (p *Postgres) FinishAdjustment(a sale.Adjustment, epoch int64, result sale.AdjustResult) bool {
	row := p.adjustments[a.ID]
	switch {
	case row.State.Finished():
		return true
	case row.State == sale.AdjustmentIntended && (epoch != p.entry.Epoch || p.entry.Rebuilding):
		return false
	}
	intended := row.State == sale.AdjustmentIntended
	row.State = sale.AdjustmentApplied
	moves := intended && result.Code != sale.AdjustUnsold && !p.off[DecreaseRedisFirst]
	switch {
	case result.Code == sale.AdjustUnsold, moves && p.total+a.Delta < p.held:
		row.State = sale.AdjustmentRefused
	case moves:
		p.total += a.Delta
	}
	p.adjustments[a.ID] = row
	return true
}

// BeginLoad implements Truth.
func (p *Postgres) BeginLoad(above int64) Entry {
	e := &p.entry
	if e.Rebuilding && p.loading < e.Epoch && e.Epoch > above { // it was requested
		p.loading = e.Epoch
		return *e
	}
	p.nextEpoch(above)
	p.loading = e.Epoch
	return *e
}

func (p *Postgres) nextEpoch(above int64) {
	e := &p.entry
	if e.Rebuilding { // the border of a load that never went live is nobody's
		delete(p.lasts, e.Epoch)
	}
	e.Epoch, e.Rebuilding, e.Rev = max(e.Epoch, above)+1, true, e.Rev+1
}

// RequestRebuild implements Truth.
func (p *Postgres) RequestRebuild() {
	if !p.entry.Rebuilding {
		p.nextEpoch(0)
	}
}

// SetLastSequence implements Truth.
func (p *Postgres) SetLastSequence(epoch int64, last uint64) bool {
	if p.entry.Epoch != epoch || !p.entry.Rebuilding {
		return false
	}
	p.lasts[epoch] = last
	return true
}

// Count implements Truth.
func (p *Postgres) Count(epoch int64) (Count, bool) {
	if p.entry.Epoch != epoch || !p.entry.Rebuilding {
		return Count{}, false
	}
	live := sale.Live{Total: p.total, Stock: p.total - p.held, Entry: sale.Entry{Sale: p.rules, Epoch: epoch, Rev: p.entry.Rev}}
	c := Count{Live: live}
	for rid, o := range p.orders {
		c.Live.Rank = max(c.Live.Rank, o.Rank)
		if o.state == sale.OrderPending {
			c.Live.Unpaid++
		}
		c.Tickets = append(c.Tickets, sale.LoadTicket{HoldsSlot: o.holdsSlot, Ticket: sale.Ticket{
			Reservation: p.orders[rid].Reservation, Status: shownAs(o.state), Reason: o.reason,
		}})
	}
	slices.SortFunc(c.Tickets, func(a, b sale.LoadTicket) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.RID, b.RID))
	})
	for _, r := range p.releases {
		c.Live.Given += r.Give
	}
	c.Live.Accepted, c.Live.Served = p.held+c.Live.Given, c.Live.Rank
	for _, id := range slices.Sorted(maps.Keys(p.adjustments)) {
		if row := p.adjustments[id]; row.State.Counted() {
			c.Adjusted = append(c.Adjusted, row.Adjustment)
		}
	}
	return c, true
}

// shownAs is what a ticket shows of an order.
func shownAs(state sale.OrderState) sale.Status {
	if state == sale.OrderPending {
		return sale.StatusConfirmed
	}
	return sale.Status(state)
}

// FinishLoad implements Truth.
func (p *Postgres) FinishLoad(epoch int64) (Entry, bool) {
	e := &p.entry
	if e.Epoch != epoch {
		return *e, false
	}
	if e.Rebuilding {
		e.Rebuilding = false
		e.Rev++
	}
	return *e, true
}
