package funnel

import (
	"context"
	"slices"
	"time"

	"sluice/shared/sale"
)

// patience is how long the line waits for a hand-over, so that the next call takes along
// whoever comes meanwhile. A store that is slower holds up those of one call, not the line.
const patience = 20 * time.Millisecond

// handOver publishes what one reserve call accepted as one message and answers its
// attempts. It does not wait if those behind can be refused from memory. It returns what is
// to be struck off the handoff list.
func (f *Funnel) handOver(l *line, h sale.HandOver, waiting []pending, start time.Time) sale.HandOver {
	for range waiting {
		f.exits.Enter(sale.LayerHandOver)
	}
	published := make(chan error, 1)
	f.flights.Go(func() { published <- f.publish(h, start) })
	if l.refused() {
		f.flights.Go(func() { f.strikeOff(f.handedOver(h, waiting, <-published)) })
		return sale.HandOver{}
	}
	l.hands.Add(1)
	defer l.hands.Add(-1)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case err := <-published:
		return f.handedOver(h, waiting, err)
	case <-late.C:
		f.flights.Go(func() { f.strikeOff(f.handedOver(h, waiting, <-published)) })
		return sale.HandOver{}
	}
}

// handedOver answers the attempts of a hand-over, and returns it unless it failed.
func (f *Funnel) handedOver(h sale.HandOver, waiting []pending, err error) sale.HandOver {
	if err != nil && f.faults.Allow() {
		f.log.Warn("reservations not handed over, the sweeper will", "sale", h.SaleID, "reservations", len(h.Reservations), "error", err)
	}
	for _, p := range waiting {
		r := decided(p.Decision, sale.LayerHandOver)
		if err != nil {
			r.Outcome = sale.Unavailable
		}
		p.finish(r)
	}
	if err != nil {
		return sale.HandOver{}
	}
	return h
}

// publish returns nil only when JetStream acknowledged in time to be answered. The
// deadline counts from the reserve call's start: a rebuild waits that long and then
// knows that no answer is still to come.
func (f *Funnel) publish(h sale.HandOver, start time.Time) error {
	deadline := start.Add(f.config.PublishTimeout)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	end := f.calls.begin(callHandOver, len(h.Reservations))
	_, err := f.queue.Publish(ctx, h)
	end(err)
	if err != nil {
		return err
	}
	if err := f.points.Hit(PointHandedOver); err != nil {
		return err
	}
	if !time.Now().Before(deadline) { // the context's timer may be late, the clock is not
		return context.DeadlineExceeded
	}
	return nil
}

// message lists every reservation once, though several attempts may wait for it.
func message(e *sale.Entry, waiting []pending) sale.HandOver {
	h := sale.HandOver{SaleID: e.ID, Epoch: e.Epoch, PriceMinor: e.PriceMinor, Currency: e.Currency, Reservations: make([]sale.Reservation, 0, len(waiting))}
	var seen map[string]bool // nil when each waits for its own, as nearly always
	if slices.ContainsFunc(waiting, pending.ofAnother) {
		seen = make(map[string]bool, len(waiting))
	}
	for _, p := range waiting {
		if seen[p.Ticket.RID] {
			continue
		}
		if seen != nil {
			seen[p.Ticket.RID] = true
		}
		h.Reservations = append(h.Reservations, p.Ticket.Reservation)
	}
	return h
}

// strikeOff takes acknowledged reservations off the handoff list. If that fails
// the sweeper hands them over once more, which moves nothing.
func (f *Funnel) strikeOff(h sale.HandOver) {
	if len(h.Reservations) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), f.config.PublishTimeout)
	defer cancel()
	rids := make([]string, len(h.Reservations))
	for i, r := range h.Reservations {
		rids[i] = r.RID
	}
	end := f.calls.begin(callStrikeOff, len(rids))
	err := f.stock.HandedOver(ctx, h.SaleID, h.Epoch, rids)
	end(err)
	if err != nil && f.faults.Allow() {
		f.log.Warn("handed-over reservations not struck off", "sale", h.SaleID, "reservations", len(rids), "error", err)
	}
}
