package ledger

import (
	"fmt"

	"sluice/shared/sale"
)

// load is one run of the rebuild: fence, wait, order, count, load, flip, announce. Two
// may be under way; the later epoch wins.
type load struct {
	*World
	entry Entry
	token string
	last  uint64
	saved int // in the last look at older epochs
	count Count
}

// rebuild requests a rebuild, unless one is asked for, and runs it.
func (w *World) rebuild() {
	w.start("load", func(*task) step {
		l := &load{World: w}
		return func() step {
			if w.truth.Entry().Epoch > 0 {
				w.truth.RequestRebuild()
			}
			return l.begin
		}
	})
}

// resume runs a rebuild that was asked for, or that somebody has broken off.
func (w *World) resume() {
	w.start("load", func(*task) step { return (&load{World: w}).begin })
}

func (l *load) begin() step {
	e := l.truth.Entry()
	found, live := l.redis.Epoch(e.Epoch)
	if live && e.Epoch > 0 { // it was broken off after the flip
		l.entry = e
		return l.finish
	}
	l.entry = l.truth.BeginLoad(found)
	return func() step {
		l.announce(l.entry)
		return l.fence
	}
}

func (l *load) fence() step {
	l.tokens++
	l.token = fmt.Sprint("token-", l.tokens)
	if !l.redis.Fence(l.entry.Epoch, l.token) {
		return nil
	}
	return l.wait
}

// wait is for longer than anybody may be answered 202 for a call from before the fence.
func (l *load) wait() step {
	if !l.off[WaitForAnswers] {
		for _, t := range l.tasks {
			t.late = true
		}
	}
	return l.save(false)
}

// save hands over what older epochs hold and nothing was decided about.
func (l *load) save(ordered bool) step {
	return func() step {
		l.saved = 0
		var lost []Queued
		for _, older := range l.redis.OlderQueued(l.entry.Epoch) {
			undecided := l.truth.Undecided(ridsOf(older.Reservations))
			if open := within(older.Reservations, undecided); len(open) > 0 {
				lost = append(lost, Queued{Epoch: older.Epoch, Reservations: open})
			}
		}
		if ordered && len(lost) == 0 {
			return l.read
		}
		return func() step {
			for _, q := range lost {
				l.hit("saved by a load")
				l.publish(q.Epoch, q.Reservations)
			}
			return l.border
		}
	}
}

func within(reservations []sale.Reservation, rids []string) (found []sale.Reservation) {
	named := make(map[string]bool)
	for _, rid := range rids {
		named[rid] = true
	}
	for _, r := range reservations {
		if named[r.RID] {
			found = append(found, r)
		}
	}
	return found
}

// border notes up to which hand-over older epochs are ordered.
func (l *load) border() step {
	l.last = uint64(len(l.stream))
	return func() step {
		if !l.truth.SetLastSequence(l.entry.Epoch, l.last) {
			return nil
		}
		return l.await
	}
}

func (l *load) await() step {
	for _, m := range l.stream[:l.last] {
		if !m.acknowledged && !l.off[OrderBeforeCount] {
			return l.await
		}
	}
	if l.off[OrderBeforeCount] {
		return l.read
	}
	return l.save(true)
}

func (l *load) read() step {
	var ok bool
	if l.count, ok = l.truth.Count(l.entry.Epoch); !ok {
		return nil
	}
	if l.off[LoadBeforeFlip] {
		return func() step {
			if !l.redis.Flip(l.token, l.count.Live) {
				return nil
			}
			return l.fill(l.finish)
		}
	}
	return l.fill(func() step {
		if !l.redis.Flip(l.token, l.count.Live) {
			l.hit("flip refused")
			return nil
		}
		return l.finish
	})
}

func (l *load) fill(then step) step {
	return func() step {
		if !l.off[LoadAdjustments] && !l.redis.LoadAdjusted(l.entry.Epoch, l.token, l.count.Adjusted) {
			return nil
		}
		return func() step {
			if !l.redis.LoadTickets(l.entry.Epoch, l.token, l.count.Tickets) {
				return nil
			}
			return then
		}
	}
}

func (l *load) finish() step {
	e, ok := l.truth.FinishLoad(l.entry.Epoch)
	if !ok {
		return nil
	}
	return func() step {
		l.hit("live again")
		l.announce(e)
		return func() step {
			l.redis.DropOlderEpochs(e.Epoch)
			return nil
		}
	}
}
