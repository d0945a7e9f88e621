package load

import (
	"context"
	"slices"

	"sluice/shared/sale"
)

// saveQueued hands over again what older epochs, if Redis still has them, hold of queued
// reservations without an outcome. The stream may have lost the hand-over of one that was
// answered 202, or nobody could read it: then Redis alone has it, and it is counted only
// if it is ordered before. One that Redis holds because it was rolled back is known.
func (l *Loader) saveQueued(ctx context.Context, done *Done) (saved int, err error) {
	e := done.Entry
	older, err := l.Stock.OlderEpochs(ctx, e.ID, e.Epoch)
	if err != nil {
		return 0, err
	}
	for _, epoch := range older {
		n, err := l.saveEpoch(ctx, e, epoch)
		saved, done.Saved = saved+n, done.Saved+n
		if err != nil {
			return saved, err
		}
	}
	if saved > 0 {
		l.Log.Warn("lost reservations handed over again", "sale", e.ID, "epoch", e.Epoch, "reservations", saved)
	}
	return saved, nil
}

func (l *Loader) saveEpoch(ctx context.Context, e sale.Entry, epoch int64) (saved int, err error) {
	var page []sale.Reservation
	flush := func() error {
		n, err := l.handOver(ctx, e, epoch, page)
		saved += n
		page = page[:0]
		return err
	}
	err = l.Stock.EachTicket(ctx, e.ID, epoch, func(t sale.Ticket) error {
		if t.Status != sale.StatusQueued {
			return nil
		}
		if page = append(page, t.Reservation); len(page) == sale.MaxHandOver {
			return flush()
		}
		return nil
	})
	if err != nil || len(page) == 0 {
		return saved, err
	}
	return saved, flush()
}

// handOver publishes those of a page that have no outcome, at the epoch they came from.
func (l *Loader) handOver(ctx context.Context, e sale.Entry, epoch int64, page []sale.Reservation) (n int, err error) {
	rids := make([]string, len(page))
	for i, r := range page {
		rids[i] = r.RID
	}
	undecided, err := l.Truth.Undecided(ctx, rids)
	if err != nil || len(undecided) == 0 {
		return 0, err
	}
	open := slices.DeleteFunc(slices.Clone(page), func(r sale.Reservation) bool { return !slices.Contains(undecided, r.RID) })
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, err = l.Queue.Publish(call, sale.HandOver{
		SaleID: e.ID, Epoch: epoch, PriceMinor: e.PriceMinor, Currency: e.Currency, Reservations: open,
	})
	return len(open), err
}
