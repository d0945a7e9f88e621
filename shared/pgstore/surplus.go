package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sluice/shared/sale"
)

// rejectSurplus is the way out when the stock row, or the template of a sale of coupons, has
// less room than the rows inserted: Redis sold units that do not exist. The lowest ranks keep their
// rows, the others become rejected.
//
// It changes the rows of this transaction, which nobody else has seen, instead
// of starting over with the stock row locked: rows before stock is everybody's
// order of locks, and the reverse would deadlock with any batch that shares a
// rid with this one.
func (d *decision) rejectSurplus(ctx context.Context) error {
	coupons, err := d.couponsLeft(ctx)
	if err != nil {
		return err
	}
	var room int64
	err = d.tx.QueryRow(ctx, `SELECT total - held FROM sale_stock WHERE sale_id = $1 FOR UPDATE`,
		d.batch.SaleID).Scan(&room)
	if err != nil {
		return fmt.Errorf("read room: %w", err)
	}
	slices.SortFunc(d.ordered, func(a, b sale.Reservation) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.RID, b.RID))
	})
	admitted := min(room, coupons, int64(len(d.ordered)))
	surplus := d.ordered[admitted:]
	d.ordered = d.ordered[:admitted]
	if err := d.withdraw(ctx, surplus); err != nil {
		return err
	}
	if err := d.reject(ctx, d.withTheirDuplicates(surplus)); err != nil {
		return err
	}
	_, err = d.tx.Exec(ctx, `UPDATE sale_stock SET held = held + $2 WHERE sale_id = $1`, d.batch.SaleID, admitted)
	if err != nil {
		return fmt.Errorf("take the units left: %w", err)
	}
	return nil
}

// withTheirDuplicates is the rids of surplus, and of what this batch rejected
// in their favour: a duplicate must point to a rid that holds its slot.
func (d *decision) withTheirDuplicates(surplus []sale.Reservation) []string {
	rids := make([]string, len(surplus))
	losesSlot := make(map[string]bool, len(surplus))
	for i, r := range surplus {
		rids[i] = r.RID
		losesSlot[r.RID] = true
	}
	for rid, verdict := range d.verdicts {
		if verdict.Fate == FateDuplicate && losesSlot[verdict.Holder] {
			rids = append(rids, rid)
		}
	}
	return rids
}

// reject turns rows of this transaction into surplus, each with its release:
// give 0, because a unit that never existed must not go back.
func (d *decision) reject(ctx context.Context, rids []string) error {
	_, err := d.tx.Exec(ctx, `
		WITH surplus AS (
			UPDATE orders SET state = 'rejected', shown_state = 'rejected', reason = 'surplus',
				holds_unit = false, holds_slot = false, expires_at = NULL
			WHERE id = ANY ($2::text[]::uuid[])
			RETURNING id
		)
		INSERT INTO releases (rid, sale_id, status, reason, give)
		SELECT id, $1, 'rejected', 'surplus', 0 FROM surplus
		ON CONFLICT (rid) DO UPDATE SET reason = 'surplus', holder = NULL`,
		d.batch.SaleID, rids)
	if err != nil {
		return fmt.Errorf("reject surplus: %w", err)
	}
	for _, rid := range rids {
		d.verdicts[rid] = Verdict{RID: rid, State: sale.OrderRejected, Reason: sale.ReasonSurplus, Fate: FateSurplus}
	}
	return nil
}
