package recovery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/shared/sale"
)

const (
	latest = 1000 // tickets of a sale that are compared

	// A Redis that does not answer keeps Postgres waiting for this long. Then its sales
	// count as unknown: a shard that is down must not keep the others' orders.
	patience = 15 * time.Second
)

// compare says why Postgres is behind, or "" when it has everything that can be known.
func (r *Recovery) compare(ctx context.Context) (why string, err error) {
	entries, announced, err := r.catalogues(ctx)
	if err != nil {
		return "", err
	}
	byID := make(map[string]sale.Entry, len(entries))
	for _, e := range entries {
		byID[e.ID] = e
	}
	for _, known := range announced {
		if e, ok := byID[known.ID]; !ok || known.NewerThan(e) {
			return fmt.Sprintf("the catalogue has sale %s at epoch %d, rev %d, Postgres at %d, %d", known.ID, known.Epoch, known.Rev, e.Epoch, e.Rev), nil
		}
	}
	var faults []error
	for _, e := range entries {
		if e.Retired || e.Epoch == 0 {
			continue
		}
		why, err := r.compareSale(ctx, e)
		if why != "" {
			return why, nil
		}
		faults = append(faults, err)
	}
	return "", r.bearWith(errors.Join(faults...))
}

// catalogues are the sales as Postgres and as JetStream have them.
func (r *Recovery) catalogues(ctx context.Context) (entries, announced []sale.Entry, err error) {
	if entries, err = r.truth.Entries(ctx); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	announced, err = r.queue.Entries(ctx)
	return entries, announced, err
}

// bearWith lets faults go that have lasted too long.
func (r *Recovery) bearWith(err error) error {
	if err == nil {
		r.failing = time.Time{}
		return nil
	}
	if r.failing.IsZero() {
		r.failing = time.Now()
	}
	if time.Since(r.failing) < patience {
		return err
	}
	r.failing = time.Time{}
	r.log.Error("postgres could not be compared with all of redis", "error", err)
	return nil
}

// compareSale looks up the tickets that moved last. A sale that Redis has lost tells
// nothing.
func (r *Recovery) compareSale(ctx context.Context, e sale.Entry) (why string, err error) {
	snapshot, err := r.snapshot(ctx, e.ID, e.Epoch)
	if errors.Is(err, sale.ErrStale) {
		if snapshot.Epoch > e.Epoch {
			return fmt.Sprintf("Redis has sale %s at epoch %d, Postgres at %d", e.ID, snapshot.Epoch, e.Epoch), nil
		}
		return "", nil
	}
	if err != nil {
		return "", err
	}
	newest := newestTickets{}
	if err := r.stock.EachTicket(ctx, e.ID, e.Epoch, newest.add); err != nil {
		return "", err
	}
	missing, err := r.truth.Missing(ctx, newest.list())
	if err != nil || missing == 0 {
		return "", err
	}
	return fmt.Sprintf("%d of the %d tickets of sale %s that moved last", missing, len(newest.list()), e.ID), nil
}

func (r *Recovery) snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	snapshot, _, err := r.stock.Snapshot(ctx, saleID, epoch)
	return snapshot, err
}

// newestTickets are those with an outcome that moved last.
type newestTickets struct{ tickets []sale.Ticket }

func (n *newestTickets) add(t sale.Ticket) error {
	if t.Status == sale.StatusQueued {
		return nil
	}
	if n.tickets = append(n.tickets, t); len(n.tickets) >= 4*latest {
		n.tickets = n.list()
	}
	return nil
}

func (n *newestTickets) list() []sale.Ticket {
	slices.SortFunc(n.tickets, func(a, b sale.Ticket) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return n.tickets[:min(len(n.tickets), latest)]
}
