package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// A hand-over of an older epoch belongs to the first load that replaced its epoch. That
// load notes a last sequence L once no gateway answers for the epoch any more, has
// everything up to L ordered, and only then counts what is free:
//
//	no note yet, load under way   order: the note is made behind the gate, and the count comes later
//	up to L                       order, as any batch: once the load has counted, these are all known
//	beyond L, load under way      BeyondError: one up to L may bring the same rid, and goes first
//	beyond L, load finished       reject as superseded: nobody was answered 202 for it, and the
//	                              count left its unit free
//	no note, no load under way    ErrStaleEpoch: nobody knows
//
// Loads that never went live leave no note behind, see nextEpoch. One rid alone may come
// again at a later epoch than it was superseded at, that of a late payment: see
// releaseSuperseded.

// BeyondError refuses a batch of an older epoch that reaches beyond the last sequence
// which the load under way orders. Up to LastSeq its hand-overs can be ordered now.
type BeyondError struct{ LastSeq uint64 }

func (e *BeyondError) Error() string {
	return fmt.Sprintf("hand-overs after %d wait for the end of the rebuild", e.LastSeq)
}

const everything = math.MaxUint64

// placeEpoch finds out up to which sequence the batch is ordered.
func (d *decision) placeEpoch(ctx context.Context, current int64, rebuilding bool) error {
	d.lastSeq, d.current = everything, current == d.batch.Epoch
	if d.current {
		return nil
	}
	stale := fmt.Errorf("%w: batch has %d, sale has %d", ErrStaleEpoch, d.batch.Epoch, current)
	if current < d.batch.Epoch || len(d.batch.Sequences) != len(d.batch.Reservations) {
		return stale
	}
	var replacedBy, last int64
	err := d.tx.QueryRow(ctx, `SELECT epoch, last_seq FROM rebuilds WHERE sale_id = $1 AND epoch > $2 ORDER BY epoch LIMIT 1`,
		d.batch.SaleID, d.batch.Epoch).Scan(&replacedBy, &last)
	switch {
	case errors.Is(err, pgx.ErrNoRows) && rebuilding:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return stale
	case err != nil:
		return fmt.Errorf("read what replaced epoch %d: %w", d.batch.Epoch, err)
	}
	d.lastSeq = uint64(last)
	if rebuilding && replacedBy == current && slices.Max(d.batch.Sequences) > d.lastSeq {
		return &BeyondError{LastSeq: d.lastSeq}
	}
	return nil
}

// split sets those apart that came beyond the last sequence alone.
func (d *decision) split(reservations []sale.Reservation) (within, beyond []sale.Reservation) {
	if d.lastSeq == everything {
		return reservations, nil
	}
	first := make(map[string]uint64, len(reservations))
	for i, r := range d.batch.Reservations {
		if seq, ok := first[r.RID]; !ok || d.batch.Sequences[i] < seq {
			first[r.RID] = d.batch.Sequences[i]
		}
	}
	for _, r := range reservations {
		if first[r.RID] <= d.lastSeq {
			within = append(within, r)
		} else {
			beyond = append(beyond, r)
		}
	}
	return within, beyond
}

// supersede rejects reservations, unless they are decided. They have no ticket in the
// epoch that is current, and their units are free there: their releases are applied as
// they are written.
func (d *decision) supersede(ctx context.Context, beyond []sale.Reservation) error {
	if len(beyond) == 0 {
		return nil
	}
	decided, err := d.obstacles(ctx, beyond)
	if err != nil {
		return err
	}
	var open []sale.Reservation
	for _, r := range beyond {
		if stored := decided[r.RID].stored; stored.State != "" {
			d.verdicts[r.RID] = stored
		} else {
			open = append(open, r)
		}
	}
	c := columnsOf(open)
	written, err := d.tx.Exec(ctx, `
		WITH superseded AS (
			INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
				state, shown_state, reason, holds_unit, holds_slot)
			SELECT r.id, $1, r.user_id, r.slot, r.key, r.rank, r.accepted_at, $2, $3, 'rejected', 'rejected', 'superseded', false, false
			FROM unnest($4::text[]::uuid[], $5::text[], $6::smallint[], $7::text[], $8::bigint[], $9::timestamptz[])
				AS r (id, user_id, slot, key, rank, accepted_at)
			ORDER BY r.user_id COLLATE "C", r.slot, r.rank, r.id
			ON CONFLICT (id) DO NOTHING
			RETURNING id
		)
		INSERT INTO releases (rid, sale_id, status, reason, give, applied_at)
		SELECT id, $1, 'rejected', 'superseded', 0, now() FROM superseded`,
		d.batch.SaleID, d.batch.PriceMinor, d.batch.Currency, c.rids, c.users, c.slots, c.keys, c.ranks, c.times)
	if err != nil {
		return fmt.Errorf("reject superseded: %w", err)
	}
	if written.RowsAffected() < int64(len(open)) {
		return errStartOver // another transaction decides one of them
	}
	for _, r := range open {
		d.verdicts[r.RID] = Verdict{RID: r.RID, State: sale.OrderRejected, Reason: sale.ReasonSuperseded, Fate: FateSuperseded}
	}
	return nil
}
