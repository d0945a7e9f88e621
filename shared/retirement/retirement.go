// Package retirement takes a sale that is over out of the stores:
//
//	closed ──retention, nothing left to do, audit passed──► retired   Postgres: no more orders
//	       ──keys, consumer and messages removed──────────► cleared
//	       ──everybody has heard of it, entry removed─────► forgotten nothing but rows is left
//
// Every step is idempotent and each has its mark in Postgres, so whoever comes next
// goes on where another was stopped. Any number of processes may work at it: each
// holds the sale's lock meanwhile, which loads and rebuilds hold too.
package retirement

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/shared/sale"
)

// Rows are a sale's rows in Postgres.
type Rows interface {
	// LockSale fails at once when another process has the sale.
	LockSale(ctx context.Context, saleID string) (unlock func(), err error)
	Remains(ctx context.Context, saleID string, retention time.Duration) (sale.Remains, error)
	Retire(ctx context.Context, saleID string, epoch int64, retention time.Duration) (sale.Entry, error)
	MarkCleared(ctx context.Context, saleID string) error
	MarkForgotten(ctx context.Context, saleID string) error
}

// Stock is a sale's state in Redis.
type Stock interface {
	Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error)
	Clear(ctx context.Context, saleID string, epoch int64) error
}

// Stream has a sale's hand-overs and its entry in the catalogue.
type Stream interface {
	Idle(ctx context.Context, saleID string) (bool, error)
	PutEntry(ctx context.Context, e sale.Entry) (changed bool, err error)
	Clear(ctx context.Context, saleID string) error
	RemoveEntry(ctx context.Context, saleID string) error
}

// Points between the steps, at which a process can be made to fail.
const (
	Retired = "retired" // Postgres has retired the sale; everything else is still there
	Cleared = "cleared" // Redis and the stream have nothing of it; Postgres does not know yet
)

// Points lists them.
func Points() []string { return []string{Retired, Cleared} }

// Retirement retires sales.
type Retirement struct {
	Rows   Rows
	Stock  Stock
	Stream Stream
	Audit  func(ctx context.Context, saleID string) (sale.Verdict, error) // of a sale at rest
	Hit    func(point string) error
}

// Reason is why a sale cannot be retired.
type Reason struct {
	Kind   string // of a closed set: Kinds
	Detail string
}

// Kinds are the kinds of reasons, in the order in which they are looked for.
func Kinds() []string {
	return []string{kindOpen, kindRebuilding, kindOrders, kindReleases, kindAdjusting, kindTickets, kindPayments, kindRedis, kindHandOff, kindMessages, KindAudit}
}

// KindAudit is the kind of a reason that needs a person; the others pass.
const KindAudit = "audit"

const (
	kindOpen       = "open"
	kindRebuilding = "rebuilding"
	kindOrders     = "pending_orders"
	kindReleases   = "unapplied_releases"
	kindAdjusting  = "adjustments"
	kindTickets    = "unshown_orders"
	kindPayments   = "unapplied_payments"
	kindRedis      = "not_in_redis"
	kindHandOff    = "handoff"
	kindMessages   = "unacknowledged"
)

// Text lists reasons for a person.
func Text(reasons []Reason) string {
	details := make([]string, len(reasons))
	for i, r := range reasons {
		details[i] = r.Detail
	}
	return strings.Join(details, "; ")
}

// Retire retires a sale that closed longer ago than retention, unless something is
// left to be done: then it returns all reasons. A retired sale has none.
func (r *Retirement) Retire(ctx context.Context, saleID string, retention time.Duration) ([]Reason, error) {
	unlock, err := r.Rows.LockSale(ctx, saleID)
	if err != nil {
		return nil, err
	}
	defer unlock()
	remains, err := r.Rows.Remains(ctx, saleID, retention)
	if err != nil || remains.Entry.Retired {
		return nil, err
	}
	reasons, err := r.reasons(ctx, remains)
	if err != nil || len(reasons) > 0 {
		return reasons, err
	}
	entry, err := r.Rows.Retire(ctx, saleID, remains.Entry.Epoch, retention)
	if err != nil {
		return nil, err // whatever has come up since, the next attempt will name
	}
	if err := r.Hit(Retired); err != nil {
		return nil, err
	}
	_, err = r.Stream.PutEntry(ctx, entry)
	return nil, err
}

// Reasons says why a sale cannot be retired, and changes nothing.
func (r *Retirement) Reasons(ctx context.Context, saleID string, retention time.Duration) ([]Reason, error) {
	remains, err := r.Rows.Remains(ctx, saleID, retention)
	if err != nil || remains.Entry.Retired {
		return nil, err
	}
	return r.reasons(ctx, remains)
}

func (r *Retirement) reasons(ctx context.Context, m sale.Remains) ([]Reason, error) {
	var reasons []Reason
	because := func(holds bool, kind, format string, args ...any) {
		if holds {
			reasons = append(reasons, Reason{kind, fmt.Sprintf(format, args...)})
		}
	}
	because(m.Wait > 0, kindOpen, "its retention is over only in %v", m.Wait.Round(time.Second))
	because(m.Entry.Rebuilding, kindRebuilding, "it is being loaded or rebuilt")
	because(m.Pending > 0, kindOrders, "%d orders are pending", m.Pending)
	because(m.Unapplied > 0, kindReleases, "%d releases are not applied", m.Unapplied)
	because(m.Adjusting > 0, kindAdjusting, "%d stock adjustments are not finished", m.Adjusting)
	because(m.Unshown > 0, kindTickets, "%d orders are not shown on their tickets", m.Unshown)
	because(m.Paying > 0, kindPayments, "%d payments are not applied: there may be units for them yet", m.Paying)
	if m.Entry.Epoch == 0 { // never loaded, so never sold
		return reasons, nil
	}
	snap, handOff, err := r.Stock.Snapshot(ctx, m.Entry.ID, m.Entry.Epoch)
	if err != nil && !isStale(err) {
		return nil, err
	}
	because(isStale(err), kindRedis, "Redis has not got it at epoch %d, so nobody can audit it", m.Entry.Epoch)
	because(err == nil && (handOff.Count > 0 || snap.Served < snap.Rank), kindHandOff,
		"%d reservations wait for their hand-over, %d have no outcome", handOff.Count, snap.Rank-snap.Served)
	idle, err := r.Stream.Idle(ctx, m.Entry.ID)
	if err != nil {
		return nil, err
	}
	because(!idle, kindMessages, "hand-overs are not acknowledged")
	if len(reasons) > 0 {
		return reasons, nil
	}
	verdict, err := r.Audit(ctx, m.Entry.ID)
	if err != nil {
		return nil, err
	}
	because(!verdict.AtRest, kindHandOff, "it is not at rest")
	for _, v := range verdict.Violations {
		because(true, KindAudit, "audit: %s: %s", v.Invariant, v.Detail)
	}
	return reasons, nil
}
