package ledger

import (
	"cmp"
	"maps"
	"slices"

	"sluice/shared/sale"
)

// Redis is the reference of FastState.
type Redis struct {
	rules sale.Sale
	off   off
	meta  meta
	keys  map[int64]*epochKeys
	run   int // the process that executes scripts
}

// meta has no epoch in its name.
type meta struct {
	epoch int64
	live  bool
	token string
	run   int // the process that was fenced
}

// epochKeys are the keys with an epoch in their names.
type epochKeys struct {
	stock, total, rank, accepted, served, unpaid, given int64

	soldOut  bool
	buyers   map[place]bool
	slots    map[place]string // the last rid of each
	bound    map[binding]string
	tickets  map[string]ticket
	handoff  map[string]bool
	adjusted map[string]int64 // 0 for a refused one
}

type place struct {
	user string
	slot int
}

type binding struct{ user, key string }

type ticket struct {
	sale.Reservation
	status sale.Status
	served bool
}

func newRedis(s sale.Sale, off off) *Redis {
	return &Redis{rules: s, off: off, keys: map[int64]*epochKeys{}}
}

func newKeys() *epochKeys {
	return &epochKeys{
		buyers: map[place]bool{}, slots: map[place]string{}, bound: map[binding]string{},
		tickets: map[string]ticket{}, handoff: map[string]bool{}, adjusted: map[string]int64{},
	}
}

func (k *epochKeys) clone() *epochKeys {
	c := *k
	c.buyers, c.slots, c.bound = maps.Clone(k.buyers), maps.Clone(k.slots), maps.Clone(k.bound)
	c.tickets, c.handoff, c.adjusted = maps.Clone(k.tickets), maps.Clone(k.handoff), maps.Clone(k.adjusted)
	return &c
}

// at returns the keys that a script at this epoch works on; nil means STALE.
func (r *Redis) at(epoch int64) *epochKeys {
	if r.off[EpochCompared] {
		return r.keys[epoch]
	}
	if !r.meta.live || r.meta.epoch != epoch || r.meta.run != r.run && !r.off[RunIDCompared] {
		return nil
	}
	return r.keys[epoch]
}

// Epoch implements FastState.
func (r *Redis) Epoch(ask int64) (found int64, live bool) {
	return r.meta.epoch, r.at(ask) != nil && r.meta.live && r.meta.epoch == ask
}

// Reserve implements FastState.
func (r *Redis) Reserve(epoch int64, attempts []sale.Attempt) ([]sale.Decision, bool) {
	k := r.at(epoch)
	if k == nil {
		return nil, false
	}
	decisions := make([]sale.Decision, len(attempts))
	for i, a := range attempts {
		decisions[i] = r.decide(k, a)
	}
	k.soldOut = k.soldOut || k.stock <= 0
	return decisions, true
}

// ReserveLate implements FastState. The window, which is all that it may ignore, is always
// open here.
func (r *Redis) ReserveLate(epoch int64, attempt sale.Attempt) (sale.Decision, bool) {
	decisions, ok := r.Reserve(epoch, []sale.Attempt{attempt})
	if !ok {
		return sale.Decision{}, false
	}
	return decisions[0], true
}

func (r *Redis) decide(k *epochKeys, a sale.Attempt) sale.Decision {
	if _, known := k.tickets[a.RID]; known && !r.off[ReserveOnce] {
		return k.held(sale.DecidedAccepted, a.RID)
	}
	if rid, known := k.bound[binding{a.UserID, a.Key}]; known {
		return k.held(sale.DecidedReplay, rid)
	}
	slot := 1
	for slot <= r.rules.PerUserLimit && k.buyers[place{a.UserID, slot}] {
		slot++
	}
	switch {
	case slot > r.rules.PerUserLimit && a.Key == "" && k.newest(a.UserID, r.rules.PerUserLimit) != "":
		return k.held(sale.DecidedReplay, k.newest(a.UserID, r.rules.PerUserLimit))
	case slot > r.rules.PerUserLimit:
		return sale.Decision{Code: sale.DecidedLimit}
	case k.stock <= 0:
		return sale.Decision{Code: sale.DecidedSoldOut}
	}
	k.stock--
	k.rank++
	k.accepted++
	k.unpaid++
	at := place{a.UserID, slot}
	k.tickets[a.RID] = ticket{status: sale.StatusQueued, Reservation: sale.Reservation{
		RID: a.RID, UserID: a.UserID, Key: a.Key, Slot: slot, Rank: k.rank,
	}}
	k.buyers[at], k.slots[at], k.bound[binding{a.UserID, a.Key}], k.handoff[a.RID] = true, a.RID, a.RID, true
	return k.held(sale.DecidedAccepted, a.RID)
}

func (k *epochKeys) held(code sale.DecisionCode, rid string) sale.Decision {
	t := k.tickets[rid]
	return sale.Decision{Code: code, InHandOff: k.handoff[rid], Ticket: sale.Ticket{Reservation: t.Reservation, Status: t.status}}
}

func (k *epochKeys) newest(user string, limit int) (newest string) {
	for slot := 1; slot <= limit; slot++ {
		rid := k.slots[place{user, slot}]
		if t, there := k.tickets[rid]; there && t.Rank > k.tickets[newest].Rank {
			newest = rid
		}
	}
	return newest
}

// HandedOver implements FastState.
func (r *Redis) HandedOver(epoch int64, rids []string) bool {
	k := r.at(epoch)
	if k == nil {
		return false
	}
	for _, rid := range rids {
		delete(k.handoff, rid)
	}
	return true
}

// Overdue implements FastState.
func (r *Redis) Overdue(epoch int64) ([]sale.Reservation, bool) {
	k := r.at(epoch)
	if k == nil {
		return nil, false
	}
	var overdue []sale.Reservation
	for rid := range k.handoff {
		overdue = append(overdue, k.tickets[rid].Reservation)
	}
	return byRank(overdue), true
}

func byRank(reservations []sale.Reservation) []sale.Reservation {
	slices.SortFunc(reservations, func(a, b sale.Reservation) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.RID, b.RID))
	})
	return reservations
}

// Lose implements FastState.
func (r *Redis) Lose() {
	r.run++
	r.meta, r.keys = meta{}, map[int64]*epochKeys{}
}

// copied is a copy that a server may come back with.
func (r *Redis) copied() *Redis {
	c := *r
	c.keys = make(map[int64]*epochKeys, len(r.keys))
	for epoch, k := range r.keys {
		c.keys[epoch] = k.clone()
	}
	return &c
}

// comeBack is a restart with the data of a copy.
func (r *Redis) comeBack(old *Redis) {
	old = old.copied()
	r.run++
	r.meta, r.keys = old.meta, old.keys
}
