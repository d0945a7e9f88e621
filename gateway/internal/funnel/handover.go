package funnel

import (
	"context"
	"time"

	"sluice/shared/sale"
)

// handOver publishes what one reserve call accepted as one message and answers
// its attempts. The deadline counts from the reserve call's start: a rebuild waits
// that long and then knows that no answer is still to come.
func (f *Funnel) handOver(h sale.HandOver, waiting []pending, start time.Time) {
	for range waiting {
		f.exits.Enter(sale.LayerHandOver)
	}
	ctx, cancel := context.WithDeadline(context.Background(), start.Add(f.config.PublishTimeout))
	defer cancel()
	err := f.publish(ctx, h)
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
	if err == nil {
		f.strikeOff(h)
	}
}

// publish returns nil only when JetStream acknowledged in time to be answered.
func (f *Funnel) publish(ctx context.Context, h sale.HandOver) error {
	end := f.calls.begin(callHandOver, len(h.Reservations))
	_, err := f.queue.Publish(ctx, h)
	end(err)
	if err != nil {
		return err
	}
	if err := f.points.Hit(PointHandedOver); err != nil {
		return err
	}
	if deadline, _ := ctx.Deadline(); !time.Now().Before(deadline) { // its timer may be late, the clock is not
		return context.DeadlineExceeded
	}
	return nil
}

// message lists every reservation once, though several attempts may wait for it.
func message(e *sale.Entry, waiting []pending) sale.HandOver {
	h := sale.HandOver{SaleID: e.ID, Epoch: e.Epoch, PriceMinor: e.PriceMinor, Currency: e.Currency}
	seen := make(map[string]bool, len(waiting))
	for _, p := range waiting {
		if !seen[p.Ticket.RID] {
			seen[p.Ticket.RID] = true
			h.Reservations = append(h.Reservations, p.Ticket.Reservation)
		}
	}
	return h
}

// strikeOff takes acknowledged reservations off the handoff list. If that fails
// the sweeper hands them over once more, which moves nothing.
func (f *Funnel) strikeOff(h sale.HandOver) {
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
