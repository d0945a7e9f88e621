package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/shared/sale"
)

// look is what the stores said about one sale, read Postgres, Redis, JetStream, Redis,
// Postgres, in this order.
type look struct {
	at       time.Time
	holdings sale.Holdings // the second reading
	coupons  sale.CouponEvidence
	unread   error // why there is nothing about coupons
	inRedis  bool  // the sale is live there at its epoch; else snapshot is nothing
	snapshot sale.Snapshot
	handOff  sale.HandOff
	idle     bool // every hand-over is acknowledged
	still    bool // nothing moved from the first reading to the last
}

// atRest says that nothing moved and nothing is under way in any store.
func (l look) atRest() bool {
	h, s := l.holdings, l.snapshot
	return l.still && l.inRedis && l.idle && l.handOff.Count == 0 && s.Served == s.Rank && h.Unapplied == 0 && h.Unshown == 0 && s.Total == h.Total
}

func (r *Reconciler) look(ctx context.Context, saleID string) (l look, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	first, err := r.rows.Holdings(ctx, saleID, paymentTakes*r.cfg.StuckAfter)
	if err != nil {
		return l, err
	}
	before, handOff, live, err := r.snapshot(ctx, first.Entry)
	if err != nil {
		return l, err
	}
	if l.idle, err = r.stream.Idle(ctx, saleID); err != nil {
		return l, err
	}
	if l.snapshot, l.handOff, l.inRedis, err = r.snapshot(ctx, first.Entry); err != nil {
		return l, err
	}
	if l.holdings, err = r.rows.Holdings(ctx, saleID, paymentTakes*r.cfg.StuckAfter); err != nil {
		return l, err
	}
	l.at = time.Now()
	l.still = live == l.inRedis && same(before, l.snapshot) && handOff == l.handOff && unmoved(first, l.holdings)
	return l, nil
}

func (r *Reconciler) snapshot(ctx context.Context, e sale.Entry) (s sale.Snapshot, h sale.HandOff, live bool, err error) {
	s, h, err = r.stock.Snapshot(ctx, e.ID, e.Epoch)
	if errors.Is(err, sale.ErrStale) {
		return sale.Snapshot{}, sale.HandOff{}, false, nil
	}
	if err != nil {
		return s, h, false, fmt.Errorf("cannot reconcile sale %s: %w", e.ID, err)
	}
	return s, h, true, nil
}

func same(a, b sale.Snapshot) bool {
	a.Now = b.Now
	return a == b
}

// unmoved ignores what grows with time alone.
func unmoved(a, b sale.Holdings) bool {
	return a.Entry.Epoch == b.Entry.Epoch && a.Entry.Rev == b.Entry.Rev && !a.Entry.Rebuilding && !b.Entry.Rebuilding &&
		a.Total == b.Total && a.Held == b.Held && a.Orders == b.Orders && a.Releases == b.Releases &&
		a.Unapplied == b.Unapplied && a.Unshown == b.Unshown
}
