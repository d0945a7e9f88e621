package ledger

import "sluice/shared/sale"

// adjust is an operator's change of stock: written down, brought to Redis, finished. The
// same one may be asked for again, and the loop finishes what was left.
func (w *World) adjust(a sale.Adjustment) {
	w.start("adjustment", func(*task) step {
		if w.off[IncreaseTruthFirst] && a.Delta > 0 {
			return func() step { return w.adjustRedisFirst(a) }
		}
		return func() step {
			row, epoch, ok := w.truth.BeginAdjustment(a)
			if !ok || row.State.Finished() {
				return nil
			}
			return func() step { return w.finishAdjustments([]sale.AdjustmentRow{row}, epoch) }
		}
	})
}

func (w *World) adjustRedisFirst(a sale.Adjustment) step {
	epoch := w.announced.Epoch
	if _, ok := w.redis.Adjust(epoch, a); !ok {
		return nil
	}
	return func() step {
		row, epoch, ok := w.truth.BeginAdjustment(a)
		if !ok {
			return nil
		}
		return func() step { return w.finishAdjustments([]sale.AdjustmentRow{row}, epoch) }
	}
}

// adjustLeft finishes what others have begun.
func (w *World) adjustLeft() {
	w.start("adjustments loop", func(*task) step {
		return func() step {
			rows, epoch := w.truth.UnfinishedAdjustments()
			if len(rows) == 0 {
				return nil
			}
			return func() step { return w.finishAdjustments(rows, epoch) }
		}
	})
}

func (w *World) finishAdjustments(rows []sale.AdjustmentRow, epoch int64) step {
	a := rows[0].Adjustment
	result, ok := w.redis.Adjust(epoch, a)
	if !ok {
		return nil
	}
	if result.Code == sale.AdjustUnsold {
		w.hit("decrease refused")
	}
	return func() step {
		if !w.truth.FinishAdjustment(a, epoch, result) {
			w.hit("decrease decided anew")
			return nil
		}
		if len(rows) == 1 {
			return nil
		}
		return func() step { return w.finishAdjustments(rows[1:], epoch) }
	}
}

// latePlaces bounds a chain of orders that expired in each other's place.
const latePlaces = 8

// pay applies a payment event that is stored. One that comes after expiry takes a unit in
// Redis first, then its order.
func (w *World) pay(eventID string) {
	w.start("payment", func(*task) step {
		return func() step { return w.applyPayment(eventID, nil, latePlaces) }
	})
}

func (w *World) applyPayment(eventID string, late *LateUnit, places int) step {
	applied := w.truth.ApplyPayment(eventID, late)
	switch {
	case applied.Stale:
		w.hit("late unit of an epoch that is over")
		return nil
	case applied.Result != sale.PaymentWaits:
		w.hit("payment: " + string(applied.Result))
		return nil
	case applied.Passed, !applied.NeedsUnit, places == 0:
		return nil
	}
	return func() step {
		unit, ok := w.reserveLate(applied)
		if !ok {
			return nil
		}
		return func() step { return w.applyPayment(eventID, unit, places-1) }
	}
}

func (w *World) reserveLate(a Applied) (unit *LateUnit, ok bool) {
	attempt := sale.LateAttempt(sale.Order{Reservation: sale.Reservation{RID: a.OrderID, UserID: a.UserID}})
	d, ok := w.redis.ReserveLate(a.Epoch, attempt)
	if !ok {
		return nil, false
	}
	w.issue(d)
	w.late[attempt.RID] = true
	unit = &LateUnit{Of: a.OrderID, Epoch: a.Epoch}
	switch {
	case d.Code == sale.DecidedAccepted && !closed(d.Ticket.Status):
		unit.Reservation = d.Ticket.Reservation
	case d.Code == sale.DecidedAccepted || d.Code == sale.DecidedSoldOut:
		unit.Refused = sale.OwedNoUnit
	default:
		unit.Refused = sale.OwedNoSlot
	}
	return unit, true
}
