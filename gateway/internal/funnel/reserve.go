package funnel

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/gateway/internal/catalog"
	"sluice/shared/sale"
)

// reserve decides a batch in one call of the script and hands over what it accepted. listed
// is what the call before handed over and left on the handoff list, if anything; reserve
// strikes it off once its own batch is decided, and returns what it leaves itself.
func (f *Funnel) reserve(l *line, batch []*attempt, listed sale.HandOver) sale.HandOver {
	s, start := l.sale, time.Now()
	if outcome, refused := s.Refusal(s.Clock()); refused { // the sale may have sold out while they waited
		finishAll(batch, Result{Outcome: outcome, Layer: sale.LayerAdmission})
		return listed
	}
	for range batch {
		f.exits.Enter(sale.LayerReserve)
	}
	entry := s.Entry() // once: what is reserved at an epoch is handed over at that epoch
	decisions, err := f.decide(s, entry.Epoch, batch)
	if err != nil {
		if f.faults.Allow() {
			f.log.Warn("attempts not reserved", "sale", s.ID(), "attempts", len(batch), "error", err)
		}
		finishAll(batch, Result{Outcome: sale.Unavailable, Layer: sale.LayerReserve})
		return listed
	}
	if len(listed.Reservations) > 0 {
		f.flights.Go(func() { f.strikeOff(listed) })
	}
	if pending := f.answer(s.ID(), batch, decisions); len(pending) > 0 {
		return f.handOver(l, message(entry, pending), pending, start)
	}
	return sale.HandOver{}
}

func (f *Funnel) decide(s *catalog.Sale, epoch int64, batch []*attempt) ([]sale.Decision, error) {
	ctx, cancel := context.WithTimeout(context.Background(), f.config.PublishTimeout)
	defer cancel()
	attempts := make([]sale.Attempt, len(batch))
	for i, a := range batch {
		attempts[i] = a.Attempt
	}
	end := f.calls.begin(callReserve, len(batch))
	sent := s.Clock()
	snap, decisions, err := f.stock.Reserve(ctx, s.ID(), epoch, attempts)
	end(err)
	switch {
	case errors.Is(err, sale.ErrStale):
		s.Disown(epoch)
		return nil, err
	case err != nil:
		return nil, err
	}
	if s.Observe(snap, sent, s.Clock()) || soldOutBy(decisions, snap) {
		f.broadcast(snap)
	}
	return decisions, f.points.Hit(PointReserved)
}

// soldOutBy reports whether this call took the last unit: a read of a ticket may have
// shown the flag to this gateway before, but nobody has told the others.
func soldOutBy(decisions []sale.Decision, snap sale.Snapshot) bool {
	return snap.SoldOut && slices.ContainsFunc(decisions, func(d sale.Decision) bool { return d.Code == sale.DecidedAccepted })
}

// broadcast tells the other gateways of a new version. If it is lost they re-read
// within a second.
func (f *Funnel) broadcast(snap sale.Snapshot) {
	if err := f.news.NotifySnapshot(snap); err != nil {
		f.log.Debug("news not broadcast", "sale", snap.SaleID, "error", err)
	}
}

// pending is an attempt whose reservation JetStream has yet to acknowledge.
type pending struct {
	*attempt
	*sale.Decision
}

// ofAnother reports whether another attempt has made the reservation.
func (p pending) ofAnother() bool { return p.Ticket.RID != p.RID }

// answer finishes the attempts that are decided for good and returns the rest.
func (f *Funnel) answer(saleID string, batch []*attempt, decisions []sale.Decision) []pending {
	var handOver []pending
	for i := range decisions {
		d := &decisions[i]
		if d.Code.HasTicket() && d.InHandOff {
			handOver = append(handOver, pending{batch[i], d})
			continue
		}
		if d.Code == sale.DecidedLost && f.faults.Allow() {
			f.log.Error("ticket of a reservation lost, a rebuild brings it back", "sale", saleID, "user", batch[i].UserID)
		}
		batch[i].finish(decided(d, sale.LayerReserve))
	}
	return handOver
}

func decided(d *sale.Decision, layer sale.Layer) Result {
	r := Result{Outcome: outcomeOf(d.Code), Layer: layer, Ticket: d.Ticket}
	if d.Code == sale.DecidedNotAllowed {
		r.Refusal = sale.RefusalAllowList
	}
	return r
}

func outcomeOf(code sale.DecisionCode) sale.Outcome {
	switch code {
	case sale.DecidedAccepted:
		return sale.Accepted
	case sale.DecidedReplay:
		return sale.Replay
	case sale.DecidedSoldOut:
		return sale.SoldOut
	case sale.DecidedLimit:
		return sale.LimitReached
	case sale.DecidedNotOpen:
		return sale.NotOpen
	case sale.DecidedClosed:
		return sale.OutOfWindow
	case sale.DecidedPaused:
		return sale.Paused
	case sale.DecidedNotAllowed:
		return sale.NotEligible
	case sale.DecidedLost:
	}
	return sale.Unavailable
}

func finishAll(batch []*attempt, r Result) {
	for _, a := range batch {
		a.finish(r)
	}
}
