package ledger

import (
	"maps"
	"slices"

	"sluice/shared/sale"
)

// serve counts an outcome once, whoever brings it.
func (k *epochKeys) serve(t *ticket) {
	delete(k.handoff, t.RID)
	if !t.served {
		t.served = true
		k.served++
	}
}

// Settle implements FastState.
func (r *Redis) Settle(epoch int64, settlements []sale.Settlement) ([]sale.Settled, bool) {
	k := r.at(epoch)
	if k == nil {
		return nil, false
	}
	settled := make([]sale.Settled, len(settlements))
	for i, s := range settlements {
		settled[i] = r.settle(k, s)
	}
	return settled, true
}

func (r *Redis) settle(k *epochKeys, s sale.Settlement) sale.Settled {
	t, there := k.tickets[s.RID]
	if !there {
		return sale.SettleUnknown
	}
	defer func() { k.tickets[s.RID] = t }()
	k.serve(&t)
	if !further(t.status, s.Status) {
		return sale.SettleAlready
	}
	if r.off[SettleMovesNoUnit] {
		k.stock++
		k.given++
	}
	t.status = s.Status
	if s.Status == sale.StatusPaid {
		k.unpaid--
	}
	return sale.SettleDone
}

// further reports whether a ticket may move on to next.
func further(from, next sale.Status) bool {
	order := map[sale.Status]int{sale.StatusQueued: 0, sale.StatusConfirmed: 1, sale.StatusPaid: 2}
	at := func(s sale.Status) int {
		if n, open := order[s]; open {
			return n
		}
		return 3
	}
	return at(next) > at(from)
}

// closed reports whether nothing changes a ticket any more.
func closed(s sale.Status) bool {
	return s != sale.StatusQueued && s != sale.StatusConfirmed && s != sale.StatusPaid
}

// Release implements FastState.
func (r *Redis) Release(epoch int64, releases []sale.Release) ([]sale.Released, bool) {
	k := r.at(epoch)
	if k == nil {
		return nil, false
	}
	released := make([]sale.Released, len(releases))
	for i, one := range releases {
		released[i] = r.release(k, one)
	}
	return released, true
}

func (r *Redis) release(k *epochKeys, one sale.Release) sale.Released {
	t, there := k.tickets[one.RID]
	if !there {
		return sale.ReleaseUnknown
	}
	defer func() { k.tickets[one.RID] = t }()
	k.serve(&t)
	if closed(t.status) {
		if r.off[ReleaseOnce] {
			k.give(one.Give)
		}
		return sale.ReleaseAlready
	}
	if t.status != sale.StatusPaid {
		k.unpaid--
	}
	t.status = one.Status
	k.free(t.Reservation, one)
	if b := (binding{t.UserID, ""}); t.Key == "" && k.bound[b] == t.RID {
		delete(k.bound, b)
	}
	k.give(one.Give)
	return sale.ReleaseDone
}

func (k *epochKeys) give(units int64) {
	if units > 0 {
		k.stock += units
		k.given += units
		k.soldOut = k.stock <= 0
	}
}

// free opens the slot, keeps it taken, or has it point to a duplicate's holder.
func (k *epochKeys) free(r sale.Reservation, one sale.Release) {
	at := place{r.UserID, r.Slot}
	switch {
	case k.slots[at] != r.RID:
	case one.Holder != "":
		k.slots[at] = one.Holder
	case one.Slot == sale.SlotOpens:
		delete(k.buyers, at)
	}
}

// Adjust implements FastState.
func (r *Redis) Adjust(epoch int64, a sale.Adjustment) (sale.AdjustResult, bool) {
	k := r.at(epoch)
	if k == nil {
		return sale.AdjustResult{}, false
	}
	code := sale.AdjustDone
	units, known := k.adjusted[a.ID]
	switch {
	case known && units == 0:
		code = sale.AdjustUnsold
	case known && !r.off[AdjustOnce]:
		code = sale.AdjustAlready
	case k.stock+a.Delta < 0:
		k.adjusted[a.ID] = 0
		code = sale.AdjustUnsold
	default:
		k.adjusted[a.ID] = a.Delta
		k.stock += a.Delta
		k.total += a.Delta
		k.soldOut = k.stock <= 0
	}
	return sale.AdjustResult{Code: code, Stock: k.stock}, true
}

// Fence implements FastState.
func (r *Redis) Fence(epoch int64, token string) bool {
	if r.meta.epoch >= epoch {
		return false
	}
	r.meta = meta{epoch: epoch, token: token, run: r.run}
	return true
}

func (r *Redis) loading(epoch int64, token string) *epochKeys {
	if r.meta.epoch != epoch || r.meta.token != token || r.meta.live && !r.off[LoadBeforeFlip] {
		return nil
	}
	if r.keys[epoch] == nil {
		r.keys[epoch] = newKeys()
	}
	return r.keys[epoch]
}

// LoadTickets implements FastState.
func (r *Redis) LoadTickets(epoch int64, token string, tickets []sale.LoadTicket) bool {
	k := r.loading(epoch, token)
	if k == nil {
		return false
	}
	for _, t := range tickets {
		k.load(t)
	}
	return true
}

// load gives the slot to who holds it, else to the last one who did.
func (k *epochKeys) load(t sale.LoadTicket) {
	k.tickets[t.RID] = ticket{Reservation: t.Reservation, status: t.Status, served: t.Status != sale.StatusQueued}
	at, b := place{t.UserID, t.Slot}, binding{t.UserID, t.Key}
	if t.HoldsSlot || !k.buyers[at] {
		k.slots[at] = t.RID
	}
	if t.HoldsSlot {
		k.buyers[at] = true
	}
	if _, taken := k.bound[b]; !closed(t.Status) || t.Key != "" && !taken {
		k.bound[b] = t.RID
	}
}

// LoadAdjusted implements FastState.
func (r *Redis) LoadAdjusted(epoch int64, token string, adjusted []sale.Adjustment) bool {
	k := r.loading(epoch, token)
	if k == nil {
		return false
	}
	for _, a := range adjusted {
		k.adjusted[a.ID] = a.Delta
	}
	return true
}

// Flip implements FastState.
func (r *Redis) Flip(token string, live sale.Live) bool {
	if r.meta.epoch != live.Entry.Epoch || r.meta.token != token || r.meta.live || r.meta.run != r.run {
		return false
	}
	k := r.loading(live.Entry.Epoch, token)
	k.stock, k.total, k.rank, k.accepted = live.Stock, live.Total, live.Rank, live.Accepted
	k.served, k.unpaid, k.given, k.soldOut = live.Served, live.Unpaid, live.Given, live.Stock <= 0
	r.meta.live = true
	return true
}

// OlderQueued implements FastState.
func (r *Redis) OlderQueued(epoch int64) (older []Queued) {
	for _, e := range slices.Sorted(maps.Keys(r.keys)) {
		if e >= epoch {
			continue
		}
		var queued []sale.Reservation
		for _, t := range r.keys[e].tickets {
			if t.status == sale.StatusQueued {
				queued = append(queued, t.Reservation)
			}
		}
		if len(queued) > 0 {
			older = append(older, Queued{Epoch: e, Reservations: byRank(queued)})
		}
	}
	return older
}

// DropOlderEpochs implements FastState.
func (r *Redis) DropOlderEpochs(epoch int64) {
	for e := range r.keys {
		if e < epoch {
			delete(r.keys, e)
		}
	}
}
