package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// classify decides reservations that insert did not make rows of. It must be a
// statement of its own: only a snapshot taken after insert's waits are over
// sees the rows that insert waited for. It returns those that are still open,
// because what stood in their way is gone again or came in between.
func (d *decision) classify(ctx context.Context, conflicts []sale.Reservation) (open []sale.Reservation, err error) {
	if len(conflicts) == 0 {
		return nil, nil
	}
	obstacles, err := d.obstacles(ctx, conflicts)
	if err != nil {
		return nil, err
	}
	var duplicates []sale.Reservation
	var holders, again []string
	for _, r := range conflicts {
		switch o := obstacles[r.RID]; {
		case o.stored.State != "":
			d.verdicts[r.RID] = o.stored
			if d.current && o.stored.Reason == sale.ReasonSuperseded {
				again = append(again, r.RID)
			}
		case o.slotHolder != "":
			duplicates, holders = append(duplicates, r), append(holders, o.slotHolder)
		default:
			open = append(open, r)
		}
	}
	if err := d.releaseSuperseded(ctx, again); err != nil {
		return nil, err
	}
	undecided, err := d.rejectDuplicates(ctx, duplicates, holders)
	return append(open, undecided...), err
}

// releaseSuperseded gives back units that Redis has taken at the current epoch for rids which
// are rejected as superseded. A superseded rid took its unit at an epoch that is gone, so its
// release gives 0 and is applied when it is made. But the rid of a late payment is always
// the same (sale.LateRID): the payment, tried again, took a unit under it anew, and has a
// ticket at this epoch. So the release now gives 1 and is to be applied: that closes the
// ticket. If this epoch is lost before, the next load counts the release as given and its
// unit as free. It happens once: a repeat finds that it gives already.
func (d *decision) releaseSuperseded(ctx context.Context, rids []string) error {
	if len(rids) == 0 {
		return nil
	}
	_, err := d.tx.Exec(ctx, `
		WITH over AS (
			SELECT rid FROM releases WHERE rid = ANY ($1::text[]::uuid[]) AND reason = 'superseded' AND give = 0
			ORDER BY rid FOR UPDATE
		)
		UPDATE releases r SET give = 1, applied_at = NULL FROM over WHERE r.rid = over.rid`, rids)
	if err != nil {
		return fmt.Errorf("release superseded: %w", err)
	}
	return nil
}

// obstacle is what keeps a reservation from being inserted: what was decided
// about it, or another's row that holds its slot.
type obstacle struct {
	stored     Verdict // State is "" when the rid is undecided
	slotHolder string  // "" when the slot is free
}

// obstacles reads, in one snapshot and by rid, what is in the way of rows. A
// reservation that was rejected without a row has its release.
func (d *decision) obstacles(ctx context.Context, rows []sale.Reservation) (map[string]obstacle, error) {
	c := columnsOf(rows)
	found, err := collect(ctx, d.tx, scanObstacle, `
		SELECT r.id::text, coalesce(known.state, release.status, ''), coalesce(known.reason, release.reason, ''),
			known.expires_at, coalesce(release.holder::text, ''), coalesce(holder.id::text, '')
		FROM unnest($2::text[]::uuid[], $3::text[], $4::smallint[]) AS r (id, user_id, slot)
		LEFT JOIN orders known ON known.id = r.id
		LEFT JOIN releases release ON release.rid = r.id
		LEFT JOIN orders holder
			ON holder.sale_id = $1 AND holder.user_id = r.user_id AND holder.slot = r.slot AND holder.holds_slot`,
		d.batch.SaleID, c.rids, c.users, c.slots)
	if err != nil {
		return nil, fmt.Errorf("classify conflicts: %w", err)
	}
	byRID := make(map[string]obstacle, len(found))
	for _, o := range found {
		byRID[o.stored.RID] = o
	}
	return byRID, nil
}

func scanObstacle(row pgx.CollectableRow) (obstacle, error) {
	o := obstacle{stored: Verdict{Fate: FateKnown}}
	var payBy *time.Time
	err := row.Scan(&o.stored.RID, &o.stored.State, &o.stored.Reason, &payBy, &o.stored.Holder, &o.slotHolder)
	o.stored.PayBy = utc(payBy)
	return o, err
}

// rejectDuplicates writes reservations whose slot another rid holds, given at
// the same index, as rejected, each with its release: give 0, because the unit
// it took out of Redis stands for the holder's. It returns those that another
// transaction has decided meanwhile.
func (d *decision) rejectDuplicates(ctx context.Context, duplicates []sale.Reservation, holders []string,
) (undecided []sale.Reservation, err error) {
	if len(duplicates) == 0 {
		return nil, nil
	}
	c := columnsOf(duplicates)
	rejected, err := collect(ctx, d.tx, pgx.RowTo[string], `
		WITH duplicate AS (
			SELECT id, user_id, slot, key, rank, accepted_at, holder FROM unnest($4::text[]::uuid[], $5::text[], $6::smallint[], $7::text[], $8::bigint[],
				$9::timestamptz[], $10::text[]::uuid[]) AS r (id, user_id, slot, key, rank, accepted_at, holder)
		), rejected AS (
			INSERT INTO orders (id, sale_id, user_id, slot, idempotency_key, rank, accepted_at, amount, currency,
				state, shown_state, reason, holds_unit, holds_slot)
			SELECT id, $1, user_id, slot, key, rank, accepted_at, $2, $3, 'rejected', 'rejected', 'duplicate', false, false
			FROM duplicate ORDER BY user_id COLLATE "C", slot, rank, id
			ON CONFLICT (id) DO NOTHING
			RETURNING id
		)
		INSERT INTO releases (rid, sale_id, status, reason, give, holder)
		SELECT id, $1, 'rejected', 'duplicate', 0, holder FROM rejected JOIN duplicate USING (id)
		RETURNING rid::text`,
		d.batch.SaleID, d.batch.PriceMinor, d.batch.Currency,
		c.rids, c.users, c.slots, c.keys, c.ranks, c.times, holders)
	if err != nil {
		return nil, fmt.Errorf("reject duplicates: %w", err)
	}
	written := make(map[string]bool, len(rejected))
	for _, rid := range rejected {
		written[rid] = true
	}
	for i, r := range duplicates {
		if !written[r.RID] {
			undecided = append(undecided, r)
			continue
		}
		d.verdicts[r.RID] = Verdict{
			RID: r.RID, State: sale.OrderRejected, Reason: sale.ReasonDuplicate, Fate: FateDuplicate, Holder: holders[i],
		}
	}
	return undecided, nil
}
