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
	compared = 2000 // tickets that one statement looks up
	latest   = 1000 // reservations whose hand-overs were acknowledged last, of a sale that is not live; payment events that were

	// A shard that does not answer keeps Postgres waiting for this long. Then its sales
	// count as unknown: it must not keep the others' orders. When Redis does not answer for
	// any sale nobody can buy, and it may be about to tell what is missing.
	patience = 15 * time.Second
)

// compare says why Postgres is behind, or "" when it has everything that can be known. A
// sale whose tickets it has needs no second look until Postgres starts again: with many sales, one
// call that fails would have the tickets of all of them read again.
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
	if why, err := r.comparePayments(ctx); why != "" || err != nil {
		return why, err
	}
	var faults []error
	answered := false
	for _, e := range entries {
		if e.Retired || e.Epoch == 0 {
			continue
		}
		why, err := r.compareSale(ctx, e)
		if why != "" {
			return why, nil
		}
		if err != nil && !errors.Is(err, errNoAnswer) && !errors.Is(err, errUnreadable) {
			return "", err // Postgres must answer: its own faults are no reason to believe it
		}
		if err == nil {
			r.whole[e.ID] = true
		}
		answered = answered || !errors.Is(err, errNoAnswer)
		faults = append(faults, err)
	}
	err = errors.Join(faults...)
	if err != nil && !answered {
		r.failing = time.Time{}
		return "", err
	}
	return "", r.bearWith(err)
}

// Faults of Redis, for one sale.
var (
	errNoAnswer   = errors.New("redis does not answer")
	errUnreadable = errors.New("redis answers, and its tickets cannot be read")
)

// catalogues are the sales as Postgres and as JetStream have them. Postgres is read
// last: whatever is announced meanwhile was there before.
func (r *Recovery) catalogues(ctx context.Context) (entries, announced []sale.Entry, err error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	if announced, err = r.queue.Entries(call); err != nil {
		return nil, nil, err
	}
	entries, err = r.truth.Entries(ctx)
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

// compareSale looks up every ticket that has an outcome. Which of them moved last does
// not say which commit was the last: tickets are settled by several workers, and by loops
// that come later. A Redis that is not live tells by what it has kept, of every epoch: it was
// started again, or its sale is being rebuilt. What it has lost the stream may tell.
func (r *Recovery) compareSale(ctx context.Context, e sale.Entry) (why string, err error) {
	snapshot, err := r.snapshot(ctx, e.ID, e.Epoch)
	stale := errors.Is(err, sale.ErrStale)
	if err != nil && !stale {
		return "", fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if snapshot.Epoch > e.Epoch {
		// Loads do not wait for the comparison: one may have begun since.
		later, err := r.handedOut(ctx, e.ID)
		if err != nil {
			return "", err
		}
		if later < snapshot.Epoch {
			return fmt.Sprintf("Redis has sale %s at epoch %d, Postgres at %d", e.ID, snapshot.Epoch, later), nil
		}
	}
	if r.whole[e.ID] {
		return "", nil
	}
	if !stale {
		if why, err := r.compareAdjusted(ctx, e, snapshot.Epoch); why != "" || err != nil {
			return why, err
		}
		return r.compareTickets(ctx, e, snapshot.Epoch)
	}
	if why, err := r.compareStream(ctx, e); why != "" || err != nil {
		return why, err
	}
	kept, err := r.stock.OlderEpochs(ctx, e.ID, max(e.Epoch, snapshot.Epoch)+1)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	for _, epoch := range kept {
		if why, err := r.compareTickets(ctx, e, epoch); why != "" || err != nil {
			return why, err
		}
	}
	return "", nil
}

// comparePayments looks up the payment events that were acknowledged last: that is after they
// were stored. No ticket may tell of them, such as a refund that is owed for a late one.
func (r *Recovery) comparePayments(ctx context.Context) (why string, err error) {
	known, err := r.payments.Acknowledged(ctx, latest)
	if err != nil || len(known) == 0 {
		return "", err
	}
	missing, err := r.truth.MissingPayments(ctx, known)
	if err != nil || missing == 0 {
		return "", err
	}
	return fmt.Sprintf("%d of the %d payment events that were stored last", missing, len(known)), nil
}

// compareAdjusted looks up what was added to the stock of a live sale, or taken from it: Postgres
// has a row of each before Redis moves units for it, and the catalogue tells of none.
func (r *Recovery) compareAdjusted(ctx context.Context, e sale.Entry, epoch int64) (why string, err error) {
	adjusted, err := r.stock.Adjusted(ctx, e.ID, epoch)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	missing, err := r.truth.MissingAdjusted(ctx, adjusted)
	if err != nil || missing == 0 {
		return "", err
	}
	return fmt.Sprintf("%d adjustments of the stock of sale %s", missing, e.ID), nil
}

func (r *Recovery) compareTickets(ctx context.Context, e sale.Entry, epoch int64) (why string, err error) {
	missing := 0
	var failed error
	look := pages{size: compared, flush: func(tickets []sale.Ticket) error {
		if missing, failed = r.truth.Missing(ctx, tickets); missing > 0 {
			return errEnough
		}
		return failed
	}}
	err = r.stock.EachTicket(ctx, e.ID, epoch, func(t sale.Ticket) error {
		if t.Status == sale.StatusQueued {
			return nil
		}
		return look.add(t)
	})
	if err == nil {
		err = look.end()
	}
	switch {
	case failed != nil:
		return "", failed
	case missing == 0 && err != nil:
		return "", fmt.Errorf("%w: %w", errUnreadable, err)
	case missing == 0:
		return "", nil
	}
	return fmt.Sprintf("tickets of sale %s are not in it, %d of some", e.ID, missing), nil
}

// errEnough ends a look at tickets that has found what it looks for.
var errEnough = errors.New("some are missing")

// handedOut is the epoch of a sale in Postgres, 0 when it has no such sale.
func (r *Recovery) handedOut(ctx context.Context, saleID string) (int64, error) {
	entries, err := r.truth.Entries(ctx)
	i := slices.IndexFunc(entries, func(e sale.Entry) bool { return e.ID == saleID })
	if err != nil || i < 0 {
		return 0, err
	}
	return entries[i].Epoch, nil
}

// compareStream looks up the last reservations whose hand-overs were acknowledged: that is
// after the commit, too.
func (r *Recovery) compareStream(ctx context.Context, e sale.Entry) (why string, err error) {
	upTo, err := r.queue.AcknowledgedUpTo(ctx, e.ID)
	if err != nil || upTo == 0 {
		return "", err
	}
	var rids []string
	err = r.queue.HandOvers(ctx, e.ID, func(seq uint64, h sale.HandOver, unreadable error) error {
		if unreadable != nil || seq > upTo {
			return nil
		}
		for _, reservation := range h.Reservations {
			rids = append(rids, reservation.RID)
		}
		if len(rids) >= 4*latest {
			rids = append(rids[:0], rids[len(rids)-latest:]...)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	rids = rids[max(0, len(rids)-latest):]
	undecided, err := r.truth.Undecided(ctx, rids)
	if err != nil || len(undecided) == 0 {
		return "", err
	}
	return fmt.Sprintf("%d of the %d reservations of sale %s that were ordered last", len(undecided), len(rids), e.ID), nil
}

func (r *Recovery) snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	snapshot, _, err := r.stock.Snapshot(ctx, saleID, epoch)
	return snapshot, err
}
