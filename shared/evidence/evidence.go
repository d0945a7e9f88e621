// Package evidence reads from the three stores what sale.Audit judges. It only
// reads, and may do so beside a sale under way.
package evidence

import (
	"context"
	"fmt"
	"time"

	"sluice/shared/sale"
)

const (
	restPause   = 100 * time.Millisecond // before looking again whether a sale is at rest
	readTimeout = 30 * time.Second       // of one look: it reads a whole sale, beside stores that may be busy

	couponTimeout = 5 * time.Minute // of the same at coupons: Postgres reads the quote of every order that used one
)

// Stores are where the evidence is. Main packages fill in the adapters.
type Stores struct {
	// Postgres returns everything it says about a sale as of one moment.
	Postgres interface {
		AuditSale(ctx context.Context, saleID string) (sale.AuditRows, error)
		// AuditCoupons holds the coupons that a sale gives out against their rules.
		AuditCoupons(ctx context.Context, saleID string) (sale.CouponEvidence, error)
	}
	Redis interface {
		Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error)
		// EachTicket may visit one twice while the hash grows.
		EachTicket(ctx context.Context, saleID string, epoch int64, visit func(sale.Ticket) error) error
		Buyers(ctx context.Context, saleID string, epoch int64) ([]string, error)
		Slots(ctx context.Context, saleID string, epoch int64) (map[string]string, error)
		Keys(ctx context.Context, saleID string, epoch int64) (map[string]string, error)
		Adjusted(ctx context.Context, saleID string, epoch int64) ([]sale.Adjustment, error)
		Configured(ctx context.Context, saleID string) (sale.InRedis, error)
	}
	// Stream visits every hand-over that it holds, acknowledged ones included.
	Stream interface {
		HandOvers(ctx context.Context, saleID string, visit func(seq uint64, h sale.HandOver, unreadable error) error) error
	}
}

// Audit reads the evidence of one sale until it is at rest or patience is over,
// and judges it. A sale still moving when patience is over is judged as under
// way; one that stands still with unfinished work is judged as finished.
// seen is what a client recorded, nil when none did.
func (s Stores) Audit(ctx context.Context, saleID string, seen []sale.Seen, patience time.Duration) (sale.Evidence, sale.Verdict, error) {
	deadline := time.Now().Add(patience)
	for {
		e, err := s.read(ctx, saleID)
		e.Client = seen
		over := !time.Now().Before(deadline)
		if err == nil {
			e.Waited = over && e.Still
			verdict := sale.Audit(e)
			if verdict.AtRest || over {
				return e, verdict, nil
			}
		} else if over || ctx.Err() != nil {
			return e, sale.Verdict{}, err
		}
		select {
		case <-ctx.Done():
			return e, sale.Verdict{}, fmt.Errorf("cannot audit sale %s: %w", saleID, ctx.Err())
		case <-time.After(restPause):
		}
	}
}

// read reads one sale from the three stores, and its coupons, which are in one of them.
func (s Stores) read(ctx context.Context, saleID string) (sale.Evidence, error) {
	e, template, err := s.readSale(ctx, saleID)
	if err != nil || template == "" {
		return e, err
	}
	ctx, cancel := context.WithTimeout(ctx, couponTimeout)
	defer cancel()
	e.Coupons, err = s.Postgres.AuditCoupons(ctx, saleID)
	return e, err
}

// readSale reads one sale from the three stores: Postgres first and, to see
// whether anything moved meanwhile, Postgres and Redis once more at the end.
func (s Stores) readSale(ctx context.Context, saleID string) (e sale.Evidence, template string, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	before, err := s.position(ctx, saleID)
	if err != nil {
		return e, "", err
	}
	e = evidenceOf(before)
	if e.HandedOver, err = s.handedOver(ctx, saleID); err != nil {
		return e, "", err
	}
	seen := make(map[string]bool) // one may be read twice while the hash grows
	keep := func(t sale.Ticket) error {
		if !seen[t.RID] {
			seen[t.RID] = true
			e.Redis.Tickets = append(e.Redis.Tickets, t)
		}
		return nil
	}
	if err := s.Redis.EachTicket(ctx, saleID, before.rows.Entry.Epoch, keep); err != nil {
		return e, "", err
	}
	if err := s.readNames(ctx, before.rows.Entry, &e.Redis); err != nil {
		return e, "", err
	}
	if e.Redis.Adjusted, err = s.Redis.Adjusted(ctx, saleID, before.rows.Entry.Epoch); err != nil {
		return e, "", err
	}
	configured, err := s.Redis.Configured(ctx, saleID)
	if err != nil {
		return e, "", err
	}
	e.Redis.Differs = before.rows.Entry.Differences(configured, e.Total)
	after, err := s.position(ctx, saleID)
	if err != nil {
		return e, "", err
	}
	e.Still = before.numbers() == after.numbers()
	return e, before.rows.Entry.Template, nil
}

// readNames reads what Redis finds reservations by: after the tickets, so that none is
// missed that a name points to in a sale at rest.
func (s Stores) readNames(ctx context.Context, e sale.Entry, r *sale.RedisEvidence) (err error) {
	if r.Buyers, err = s.Redis.Buyers(ctx, e.ID, e.Epoch); err != nil {
		return err
	}
	if r.Slots, err = s.Redis.Slots(ctx, e.ID, e.Epoch); err != nil {
		return err
	}
	r.Keys, err = s.Redis.Keys(ctx, e.ID, e.Epoch)
	return err
}

// position is how far a sale has come in Postgres and Redis.
type position struct {
	rows     sale.AuditRows
	snapshot sale.Snapshot
	handOff  sale.HandOff
}

func (s Stores) position(ctx context.Context, saleID string) (p position, err error) {
	if p.rows, err = s.Postgres.AuditSale(ctx, saleID); err != nil {
		return p, err
	}
	p.snapshot, p.handOff, err = s.Redis.Snapshot(ctx, saleID, p.rows.Entry.Epoch)
	return p, err
}

// numbers are what changes whenever the sale moves.
type numbers struct {
	epoch, rev, total, held, stock, version, accepted, served, unpaid, given, handOff int64
	orders, releases, unapplied, adjustments, adjusting                               int
	payments, refundsOwed                                                             int
}

func (p position) numbers() numbers {
	return numbers{
		epoch: p.rows.Entry.Epoch, rev: p.rows.Entry.Rev, total: p.rows.Total, held: p.rows.Held,
		stock: p.snapshot.Stock, version: p.snapshot.Version, accepted: p.snapshot.Accepted, served: p.snapshot.Served,
		unpaid: p.snapshot.Unpaid, given: p.snapshot.Given,
		handOff: p.handOff.Count,
		orders:  len(p.rows.Orders), releases: len(p.rows.Releases), unapplied: p.rows.Unapplied,
		adjustments: len(p.rows.Adjustments), adjusting: evidenceOf(p).Adjusting(),
		payments: len(p.rows.Payments), refundsOwed: len(p.rows.RefundsOwed),
	}
}

func evidenceOf(p position) sale.Evidence {
	return sale.Evidence{
		SaleID: p.rows.Entry.ID, PerUserLimit: p.rows.Entry.PerUserLimit,
		PriceMinor: p.rows.Entry.PriceMinor, Currency: p.rows.Entry.Currency,
		Total: p.rows.Total, Held: p.rows.Held, Orders: p.rows.Orders,
		Releases: p.rows.Releases, Unapplied: p.rows.Unapplied, Rowless: p.rows.Rowless,
		Configured: p.rows.Entry.Total, Adjustments: p.rows.Adjustments,
		Payments: p.rows.Payments, RefundsOwed: p.rows.RefundsOwed,
		Redis: sale.RedisEvidence{
			// An epoch starts with counters such that this holds for its total.
			Loaded: p.snapshot.Total,
			Stock:  p.snapshot.Stock, Accepted: p.snapshot.Accepted, Given: p.snapshot.Given, HandOff: p.handOff.Count,
			Rank: p.snapshot.Rank, Served: p.snapshot.Served, Unpaid: p.snapshot.Unpaid, SoldOut: p.snapshot.SoldOut,
		},
	}
}

// handedOver lists the rids in the stream. A message that cannot be decoded names
// none; if it carried a reservation, its ticket is missed by the audit.
func (s Stores) handedOver(ctx context.Context, saleID string) ([]string, error) {
	var rids []string
	err := s.Stream.HandOvers(ctx, saleID, func(_ uint64, h sale.HandOver, unreadable error) error {
		if unreadable == nil {
			for _, r := range h.Reservations {
				rids = append(rids, r.RID)
			}
		}
		return nil
	})
	return rids, err
}
