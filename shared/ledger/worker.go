package ledger

import "sluice/shared/sale"

// deliver is a worker's delivery of hand-overs of one epoch: order, settle, acknowledge.
// Any number of workers may have the same one in hand.
func (w *World) deliver(sequences ...int) {
	b := Batch{Epoch: w.stream[sequences[0]-1].epoch}
	for _, seq := range sequences {
		for _, r := range w.stream[seq-1].reservations {
			b.Reservations = append(b.Reservations, r)
			b.Sequences = append(b.Sequences, uint64(seq))
		}
	}
	acknowledge := func() step {
		for _, seq := range sequences {
			w.stream[seq-1].acknowledged = true
		}
		return nil
	}
	w.start("worker", func(*task) step {
		if w.off[AckAfterCommit] {
			return func() step {
				acknowledge()
				return func() step { return w.order(b, func() step { return nil }) }
			}
		}
		return func() step { return w.order(b, acknowledge) }
	})
}

func (w *World) order(b Batch, then step) step {
	verdicts, refusal, _ := w.truth.Order(b)
	if refusal != "" {
		w.hit("batch refused: " + string(refusal))
		return nil // given back
	}
	var open []sale.Settlement
	for _, v := range verdicts {
		if v.Reason != "" {
			w.hit("rejected: " + string(v.Reason))
		}
		if v.State == sale.OrderPending || v.State == sale.OrderPaid {
			open = append(open, sale.Settlement{RID: v.RID, Status: shownAs(v.State)})
		}
	}
	if len(open) == 0 {
		return then
	}
	return func() step { return w.settle(b.Epoch, open, then) }
}

// settle shows orders on their tickets, or leaves that to the shown loop.
func (w *World) settle(epoch int64, open []sale.Settlement, then step) step {
	settled, ok := w.redis.Settle(epoch, open)
	var unsettled []string
	for i, s := range open {
		if !ok || settled[i] == sale.SettleUnknown {
			unsettled = append(unsettled, s.RID)
		}
	}
	if len(unsettled) == 0 {
		return then
	}
	w.hit("settle postponed")
	return func() step {
		w.truth.Unshow(unsettled)
		return then
	}
}

// show settles what could not be settled when it was ordered, and what was paid.
func (w *World) show() {
	w.start("shown loop", func(*task) step {
		return func() step {
			unshown := w.truth.Unshown()
			if len(unshown) == 0 {
				return nil
			}
			return func() step { return w.settleUnshown(unshown) }
		}
	})
}

func (w *World) settleUnshown(unshown []Unshown) step {
	settlements := make([]sale.Settlement, len(unshown))
	for i, u := range unshown {
		settlements[i] = sale.Settlement{RID: u.RID, Status: shownAs(u.State)}
	}
	settled, ok := w.redis.Settle(unshown[0].Epoch, settlements)
	if !ok {
		return nil
	}
	return func() step {
		for i, u := range unshown {
			if settled[i] != sale.SettleUnknown {
				w.truth.MarkShown([]string{u.RID}, u.State)
			}
		}
		return nil
	}
}

// release brings to Redis what Postgres has closed.
func (w *World) release() {
	w.start("releases loop", func(*task) step {
		return func() step {
			pending := w.truth.UnappliedReleases()
			if len(pending) == 0 {
				return nil
			}
			if w.off[AppliedAfterRedis] {
				return func() step {
					w.markReleased(pending, make([]sale.Released, len(pending)))
					return func() step { return w.applyReleases(pending) }
				}
			}
			return func() step { return w.applyReleases(pending) }
		}
	})
}

func (w *World) applyReleases(pending []PendingRelease) step {
	releases := make([]sale.Release, len(pending))
	for i, p := range pending {
		releases[i] = p.Release
	}
	released, ok := w.redis.Release(pending[0].Epoch, releases)
	if !ok {
		return nil
	}
	return func() step {
		w.markReleased(pending, released)
		return nil
	}
}

// markReleased leaves unmarked whose ticket is not there.
func (w *World) markReleased(pending []PendingRelease, released []sale.Released) {
	var applied []string
	for i, p := range pending {
		switch released[i] {
		case sale.ReleaseUnknown:
			w.hit("release of an unknown ticket")
			continue
		case sale.ReleaseAlready:
			w.hit("release repeated")
		case sale.ReleaseDone:
		}
		applied = append(applied, p.RID)
	}
	w.truth.MarkApplied(applied)
}
