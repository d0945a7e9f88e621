package ledger

import (
	"errors"
	"slices"

	"sluice/shared/sale"
)

// pairRedis makes every call to Redis and to the reference.
type pairRedis struct {
	*pair
	ref *Redis
}

// done reports whether a script was not STALE, nor refused a load.
func (r *pairRedis) done(call string, want bool, err error) bool {
	if err != nil && !errors.Is(err, sale.ErrStale) && !errors.Is(err, sale.ErrFence) {
		r.fault(call, err)
	}
	r.same(call+" is done", want, err == nil)
	return want
}

func (r *pairRedis) Reserve(epoch int64, attempts []sale.Attempt) ([]sale.Decision, bool) {
	want, ok := r.ref.Reserve(epoch, attempts)
	_, got, err := r.redis.Reserve(r.t.Context(), r.saleID, epoch, attempts)
	r.same("reserve", want, got)
	return want, r.done("reserve", ok, err)
}

func (r *pairRedis) ReserveLate(epoch int64, attempt sale.Attempt) (sale.Decision, bool) {
	want, ok := r.ref.ReserveLate(epoch, attempt)
	_, got, err := r.redis.ReserveLate(r.t.Context(), r.saleID, epoch, attempt)
	r.same("reserve late", want, got)
	return want, r.done("reserve late", ok, err)
}

func (r *pairRedis) HandedOver(epoch int64, rids []string) bool {
	ok := r.ref.HandedOver(epoch, rids)
	return r.done("handed over", ok, r.redis.HandedOver(r.t.Context(), r.saleID, epoch, rids))
}

func (r *pairRedis) Overdue(epoch int64) ([]sale.Reservation, bool) {
	want, ok := r.ref.Overdue(epoch)
	got, err := r.redis.Overdue(r.t.Context(), r.saleID, epoch, 0, sale.MaxHandOver)
	r.same("overdue", want, byRank(got))
	return want, r.done("overdue", ok, err)
}

func (r *pairRedis) Settle(epoch int64, settlements []sale.Settlement) ([]sale.Settled, bool) {
	want, ok := r.ref.Settle(epoch, settlements)
	_, got, err := r.redis.Settle(r.t.Context(), r.saleID, epoch, settlements)
	r.same("settle", want, got)
	return want, r.done("settle", ok, err)
}

func (r *pairRedis) Release(epoch int64, releases []sale.Release) ([]sale.Released, bool) {
	want, ok := r.ref.Release(epoch, releases)
	_, got, err := r.redis.Release(r.t.Context(), r.saleID, epoch, releases)
	r.same("release", want, got)
	return want, r.done("release", ok, err)
}

func (r *pairRedis) Adjust(epoch int64, a sale.Adjustment) (sale.AdjustResult, bool) {
	want, ok := r.ref.Adjust(epoch, a)
	_, got, err := r.redis.Adjust(r.t.Context(), r.saleID, epoch, []sale.Adjustment{a})
	if ok && err == nil {
		r.same("adjust", want, got[0])
	}
	return want, r.done("adjust", ok, err)
}

func (r *pairRedis) Epoch(ask int64) (int64, bool) {
	found, live := r.ref.Epoch(ask)
	s, _, err := r.redis.Snapshot(r.t.Context(), r.saleID, ask)
	r.same("epoch", found, s.Epoch)
	return found, r.done("snapshot", live, err)
}

func (r *pairRedis) Fence(epoch int64, token string) bool {
	return r.done("fence", r.ref.Fence(epoch, token), r.redis.Fence(r.t.Context(), r.saleID, epoch, token))
}

func (r *pairRedis) LoadTickets(epoch int64, token string, tickets []sale.LoadTicket) bool {
	ok := r.ref.LoadTickets(epoch, token, tickets)
	return r.done("load tickets", ok, r.redis.LoadTickets(r.t.Context(), r.saleID, epoch, token, tickets))
}

func (r *pairRedis) LoadAdjusted(epoch int64, token string, adjusted []sale.Adjustment) bool {
	ok := r.ref.LoadAdjusted(epoch, token, adjusted)
	return r.done("load adjusted", ok, r.redis.LoadAdjusted(r.t.Context(), r.saleID, epoch, token, adjusted))
}

func (r *pairRedis) Flip(token string, live sale.Live) bool {
	return r.done("flip", r.ref.Flip(token, live), r.redis.Flip(r.t.Context(), token, live))
}

func (r *pairRedis) OlderQueued(epoch int64) []Queued {
	want := r.ref.OlderQueued(epoch)
	older, err := r.redis.OlderEpochs(r.t.Context(), r.saleID, epoch)
	r.fault("older epochs", err)
	var got []Queued
	for _, e := range slices.Backward(older) {
		var queued []sale.Reservation
		r.fault("each ticket", r.redis.EachTicket(r.t.Context(), r.saleID, e, func(t sale.Ticket) error {
			if t.Status == sale.StatusQueued {
				queued = append(queued, t.Reservation)
			}
			return nil
		}))
		if len(queued) > 0 {
			got = append(got, Queued{Epoch: e, Reservations: byRank(queued)})
		}
	}
	r.same("queued before", want, got)
	return want
}

func (r *pairRedis) DropOlderEpochs(epoch int64) {
	r.ref.DropOlderEpochs(epoch)
	r.fault("drop older epochs", r.redis.DropOlderEpochs(r.t.Context(), r.saleID, epoch))
}

func (r *pairRedis) Lose() {
	newest := r.world.rows.entry.Epoch + 1
	r.ref.Lose()
	r.fault("clear", r.redis.Clear(r.t.Context(), r.saleID, newest))
}
