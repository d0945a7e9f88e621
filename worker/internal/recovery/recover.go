package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/shared/sale"
)

// page is how many tickets one transaction restores.
const page = 500

// notBackError names the sale that a recovery waits for.
type notBackError struct {
	saleID string
	err    error
}

func (e *notBackError) Error() string {
	return fmt.Sprintf("cannot bring sale %s back: %v", e.saleID, e.err)
}
func (e *notBackError) Unwrap() error { return e.err }

// recover brings everything back that the other stores know, of all sales or of none. It
// waits for a shard that is silent, and passes over no ticket that it cannot read: whether
// that was let go decides whose its unit is, and the stream tells only that it was accepted,
// if it still does. A comparison may leave a sale out, for then the loss is not proven.
// Here it is, and once the server is current everybody works with all of it: neither a pause
// nor a rebuild keeps payments, cancellations and coupons off rows that are out of date.
func (r *Recovery) recover(ctx context.Context) error {
	began := time.Now()
	entries, announced, err := r.catalogues(ctx)
	if err != nil {
		return err
	}
	events, err := r.payments.Keep(ctx) // first: they say whether the unit of a refunded order came back
	if err != nil {
		return fmt.Errorf("cannot bring payments back: %w", err)
	}
	var sales []*restored
	for _, known := range newestOf(entries, announced) {
		if known.Epoch == 0 {
			continue // never loaded: the other stores have nothing of it
		}
		s := &restored{Recovery: r, expired: make(map[string]string)}
		if err := s.restore(ctx, known); err != nil {
			return &notBackError{saleID: known.ID, err: err}
		}
		sales = append(sales, s)
	}
	if err := r.payments.Apply(ctx); err != nil {
		return fmt.Errorf("cannot apply payments again: %w", err)
	}
	for _, s := range sales {
		if err := s.finish(ctx); err != nil {
			return &notBackError{saleID: s.entry.ID, err: err}
		}
	}
	r.log.Error("postgres has back what the other stores knew", "sales", len(sales), "payment_events", events, "seconds", time.Since(began).Seconds())
	return nil
}

// newestOf is every sale once, as whichever store is further knows it, with the number of
// the last allow list that either has heard of.
func newestOf(entries, announced []sale.Entry) []sale.Entry {
	newest := make(map[string]sale.Entry)
	for _, e := range slices.Concat(entries, announced) {
		known, ok := newest[e.ID]
		allowRev := max(e.AllowRev, known.AllowRev)
		if !ok || e.NewerThan(known) {
			known = e
		}
		known.AllowRev = allowRev
		newest[e.ID] = known
	}
	list := make([]sale.Entry, 0, len(newest))
	for _, e := range newest {
		list = append(list, e)
	}
	return list
}

// restored is a sale that is being brought back.
type restored struct {
	*Recovery
	entry    sale.Entry
	epochs   []int64  // whose tickets in Redis tell what Postgres had
	paid     []string // rids of tickets that say paid
	refunded []sale.Ticket
	expired  map[string]string // rid of the order that would replace an expired one → the expired one
}

func (s *restored) restore(ctx context.Context, known sale.Entry) error {
	latest, live, err := s.redisEpochs(ctx, known)
	if err != nil {
		return err
	}
	known.Epoch = max(known.Epoch, latest)
	if s.entry, err = s.truth.Adopt(ctx, known, live); err != nil || s.entry.Retired {
		return err
	}
	if s.epochs, err = s.ticketEpochs(ctx, live); err != nil {
		return err
	}
	if err := s.allowList(ctx, known); err != nil {
		return err
	}
	if len(s.epochs) == 0 {
		s.log.Error("redis has lost the sale too: what was expired or cancelled is ordered again", "sale", s.entry.ID)
	} else if err := s.fromTickets(ctx); err != nil {
		return err
	}
	return s.fromStream(ctx)
}

// allowList restores who may buy. Without the newest list the sale is left paused: neither
// an older one nor an empty one may decide.
func (s *restored) allowList(ctx context.Context, known sale.Entry) error {
	if !s.entry.Eligibility.HasAllowList {
		return nil
	}
	var users []string
	rev := int64(-1)
	for _, epoch := range append(slices.Clone(s.epochs), known.Epoch) {
		found, of, err := s.stock.AllowList(ctx, s.entry.ID, epoch)
		if err != nil {
			return err
		}
		if len(found) > 0 && of > rev {
			users, rev = found, of
		}
	}
	lost, err := s.truth.RestoreAllowList(ctx, s.entry.ID, users, rev, known.AllowRev)
	if lost {
		s.log.Error("allow list is lost, sale is paused: apply its sales file again, then resume it", "sale", s.entry.ID)
	}
	return err
}

// ticketEpochs are those whose tickets tell what Postgres had: the one that is live or,
// while the sale is fenced or Redis was started again, all that it has kept, the latest first.
func (s *restored) ticketEpochs(ctx context.Context, live int64) ([]int64, error) {
	if live > 0 {
		return []int64{live}, nil
	}
	return s.stock.OlderEpochs(ctx, s.entry.ID, s.entry.Epoch+1)
}

// redisEpochs are the latest epoch that Redis knows, and the one it is live at; 0 when
// there is none. They are one unless a load has fenced the sale, or Redis was started again.
func (s *restored) redisEpochs(ctx context.Context, known sale.Entry) (latest, live int64, err error) {
	snapshot, err := s.snapshot(ctx, known.ID, known.Epoch)
	if errors.Is(err, sale.ErrStale) && snapshot.Epoch > 0 && snapshot.Epoch != known.Epoch { // lower: about to be fenced
		snapshot, err = s.snapshot(ctx, known.ID, snapshot.Epoch)
	}
	if errors.Is(err, sale.ErrStale) {
		return snapshot.Epoch, 0, nil
	}
	return snapshot.Epoch, snapshot.Epoch, err
}

// fromTickets restores what was let go, units that were added, what was refunded and keeps
// its unit, then what is open, by rank, so that a unit that
// came back and was sold again is there for its second buyer; then duplicates, whose
// holders are there by then.
func (s *restored) fromTickets(ctx context.Context) error {
	closed := pages{size: page, flush: func(tickets []sale.Ticket) error { return s.closed(ctx, tickets) }}
	duplicates := pages{size: page, flush: closed.flush}
	var open []sale.Reservation
	var late []sale.Ticket
	err := s.eachTicket(ctx, func(t sale.Ticket) error {
		switch {
		case t.Reason == sale.ReasonDuplicate:
			late = append(late, t)
		case t.Status == sale.StatusRefunded:
			s.refunded = append(s.refunded, t)
		case t.Status.Closed():
			if t.Status == sale.StatusExpired {
				s.expired[sale.LateRID(t.RID)] = t.RID
			}
			return closed.add(t)
		default:
			open = append(open, t.Reservation)
			if t.Status == sale.StatusPaid {
				s.paid = append(s.paid, t.RID)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := closed.end(); err != nil {
		return err
	}
	if err := s.restoreRefunded(ctx, true); err != nil {
		return err
	}
	if err := s.adjusted(ctx); err != nil {
		return err
	}
	if err := s.restoreRefunded(ctx, false); err != nil {
		return err
	}
	if err := s.orderOpen(ctx, open); err != nil {
		return err
	}
	for _, t := range late {
		if err := duplicates.add(t); err != nil {
			return err
		}
	}
	return duplicates.end()
}

func (s *restored) orderOpen(ctx context.Context, open []sale.Reservation) error {
	slices.SortFunc(open, func(a, b sale.Reservation) int { return int(a.Rank - b.Rank) })
	for some := range slices.Chunk(open, page) {
		if err := s.order(ctx, sale.HandOver{SaleID: s.entry.ID, Epoch: s.entry.Epoch, PriceMinor: s.entry.PriceMinor,
			Currency: s.entry.Currency, Reservations: some}, make([]uint64, len(some))); err != nil {
			return err
		}
	}
	return nil
}

// eachTicket visits every ticket as the latest epoch has it, and once more as an older one
// has it that says it was let go: that is for good, however old it is. What a ticket says
// is open may have been let go since.
func (s *restored) eachTicket(ctx context.Context, visit func(sale.Ticket) error) error {
	if len(s.epochs) == 1 {
		return s.stock.EachTicket(ctx, s.entry.ID, s.epochs[0], visit)
	}
	seen := make(map[string]bool) // whether it was let go
	for _, epoch := range s.epochs {
		err := s.stock.EachTicket(ctx, s.entry.ID, epoch, func(t sale.Ticket) error {
			closed := t.Status.Closed()
			if letGo, known := seen[t.RID]; known && (letGo || !closed) {
				return nil
			}
			seen[t.RID] = closed
			return visit(t)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *restored) adjusted(ctx context.Context) error {
	for _, epoch := range s.epochs {
		moved, err := s.stock.Adjusted(ctx, s.entry.ID, epoch)
		if err != nil {
			return err
		}
		if len(moved) == 0 {
			continue
		}
		n, err := s.truth.RestoreAdjusted(ctx, s.entry.ID, moved)
		s.metrics.restored.WithLabelValues(restoredAdjusted).Add(float64(n))
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *restored) closed(ctx context.Context, tickets []sale.Ticket) error {
	n, err := s.truth.RestoreClosed(ctx, s.entry, tickets)
	s.metrics.restored.WithLabelValues(restoredClosed).Add(float64(n))
	return err
}

// fromStream orders what the stream still holds. What has a ticket is known by now; the
// rest is of older epochs, and superseded, or of a sale that Redis has lost too.
func (s *restored) fromStream(ctx context.Context) error {
	var batch sale.HandOver
	var sequences []uint64
	flush := func() error {
		if len(sequences) == 0 {
			return nil
		}
		defer func() { batch, sequences = sale.HandOver{}, nil }()
		return s.order(ctx, batch, sequences)
	}
	err := s.queue.HandOvers(ctx, s.entry.ID, func(seq uint64, h sale.HandOver, unreadable error) error {
		if unreadable != nil {
			return nil // it names nobody; whom it brought has a ticket
		}
		if h.Epoch != batch.Epoch || h.PriceMinor != batch.PriceMinor || len(sequences)+len(h.Reservations) > page {
			if err := flush(); err != nil {
				return err
			}
			batch = h
			batch.Reservations = nil
		}
		for _, r := range h.Reservations {
			batch.Reservations, sequences = append(batch.Reservations, r), append(sequences, seq)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

func (s *restored) order(ctx context.Context, h sale.HandOver, sequences []uint64) error {
	ordered, surplus, err := s.truth.Order(ctx, h, sequences)
	s.metrics.restored.WithLabelValues(restoredOrdered).Add(float64(ordered))
	s.tellSurplus(surplus)
	return err
}

func (s *restored) tellSurplus(orders int) {
	if orders > 0 {
		s.metrics.surplus.Add(float64(orders))
		s.log.Error("no unit is left for orders that postgres got back", "sale", s.entry.ID, "orders", orders)
	}
}

// restoreRefunded restores orders that were paid and refunded: those whose unit came back,
// or those that keep it.
func (s *restored) restoreRefunded(ctx context.Context, back bool) error {
	for _, t := range s.refunded {
		var replaced []string
		for rid, ok := s.expired[t.RID]; ok; rid, ok = s.expired[rid] {
			replaced = append(replaced, rid)
		}
		n, surplus, err := s.truth.RestoreRefunded(ctx, s.entry, t, replaced, back)
		if err != nil {
			return err
		}
		s.tellSurplus(surplus)
		s.metrics.restored.WithLabelValues(restoredClosed).Add(float64(n))
	}
	return nil
}

// finish runs once payments are back: what they do not tell is taken from the tickets,
// and Redis is rebuilt from what Postgres holds now.
func (s *restored) finish(ctx context.Context) error {
	if s.entry.Retired {
		return nil
	}
	for rids := range slices.Chunk(s.paid, page) {
		kept, err := s.truth.KeepPaid(ctx, rids)
		if err != nil {
			return err
		}
		if kept > 0 {
			s.metrics.restored.WithLabelValues(restoredPaid).Add(float64(kept))
			s.log.Error("orders are paid by their tickets alone", "sale", s.entry.ID, "orders", kept)
		}
	}
	_, _, err := s.truth.RequestRebuild(ctx, s.entry.ID, s.entry.Epoch, s.entry.Epoch)
	return err
}

// pages passes tickets on a page at a time.
type pages struct {
	size    int
	flush   func([]sale.Ticket) error
	tickets []sale.Ticket
}

func (p *pages) add(t sale.Ticket) error {
	if p.tickets = append(p.tickets, t); len(p.tickets) == p.size {
		return p.end()
	}
	return nil
}

func (p *pages) end() error {
	if len(p.tickets) == 0 {
		return nil
	}
	defer func() { p.tickets = p.tickets[:0] }()
	return p.flush(p.tickets)
}
