package ledger

import "sluice/shared/sale"

// reserve is a gateway's call for one line of attempts: reserve, hand over, answer, strike
// off. A call whose reply is lost is answered 503, and whoever it was for tries again.
func (w *World) reserve(attempts []sale.Attempt) {
	w.start("gateway", func(t *task) step {
		e := w.announced
		if e.Rebuilding {
			return nil // 503 from memory
		}
		return func() step {
			decisions, ok := w.redis.Reserve(e.Epoch, attempts)
			if !ok {
				w.hit("stale reserve")
				return nil
			}
			w.issue(decisions...)
			listed := w.answerAtOnce(decisions)
			if len(listed) == 0 {
				return nil
			}
			return func() step { return w.handOver(t, e.Epoch, listed) }
		}
	})
}

// answerAtOnce answers whom no hand-over is due for, and returns what is to be handed over.
func (w *World) answerAtOnce(decisions []sale.Decision) (listed []sale.Reservation) {
	for _, d := range decisions {
		switch {
		case !d.Code.HasTicket():
			w.hit(map[sale.DecisionCode]string{sale.DecidedSoldOut: "sold out", sale.DecidedLimit: "limit"}[d.Code])
		case d.InHandOff && !w.off[AnswerAfterAck]:
			listed = append(listed, d.Ticket.Reservation)
		case d.InHandOff:
			listed = append(listed, d.Ticket.Reservation)
			w.told[d.Ticket.RID] = true
		default:
			w.hit("replay")
			w.told[d.Ticket.RID] = true
		}
	}
	return distinct(listed)
}

func (w *World) handOver(t *task, epoch int64, listed []sale.Reservation) step {
	w.publish(epoch, listed)
	return func() step {
		if t.late {
			w.hit("hand-over too late for 202")
			return nil
		}
		for _, r := range listed {
			w.told[r.RID] = true
		}
		return func() step {
			w.redis.HandedOver(epoch, ridsOf(listed))
			return nil
		}
	}
}

func ridsOf(reservations []sale.Reservation) (rids []string) {
	for _, r := range reservations {
		rids = append(rids, r.RID)
	}
	return rids
}

// sweep hands over again what is still listed.
func (w *World) sweep() {
	epoch := w.announced.Epoch
	if w.off[Sweeping] {
		return
	}
	w.start("sweeper", func(*task) step {
		return func() step {
			overdue, ok := w.redis.Overdue(epoch)
			if !ok || len(overdue) == 0 {
				return nil
			}
			return func() step {
				w.hit("swept")
				w.publish(epoch, overdue)
				return func() step {
					w.redis.HandedOver(epoch, ridsOf(overdue))
					return nil
				}
			}
		}
	})
}
