package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// SetPaused pauses or resumes a sale and returns its entry, which a loop brings to
// the other stores. It is a new rev, and a record in the audit log, only if it
// changes something. ErrNoSale, ErrRetired, and ErrOffShelf when it may not be resumed.
func (s *Store) SetPaused(ctx context.Context, by sale.Actor, saleID string, paused bool) (sale.Entry, error) {
	action := sale.ActionResume
	if paused {
		action = sale.ActionPause
	}
	return s.operate(ctx, by, action, saleID, func(ctx context.Context, tx pgx.Tx, e sale.Entry) (sale.Entry, fields, error) {
		if e.Paused == paused {
			return e, nil, nil
		}
		if !paused {
			if err := mayResume(ctx, tx, e); err != nil {
				return e, nil, err
			}
		}
		after, err := oneEntry(ctx, tx, `
			UPDATE sales SET paused = $2, rev = rev + 1 WHERE sale_id = $1 RETURNING `+entryColumns, saleID, paused)
		return after, fields{"paused": {e.Paused, after.Paused}}, err
	})
}

// CloseSale ends the window of a sale now and returns its entry, which a loop brings
// to the other stores: nobody may attempt any more, what was accepted is served. A
// sale that is over stays as it is. The moment is a whole millisecond, as Redis has
// it. ErrNoSale, ErrRetired.
func (s *Store) CloseSale(ctx context.Context, by sale.Actor, saleID string) (sale.Entry, error) {
	return s.operate(ctx, by, sale.ActionClose, saleID, func(ctx context.Context, tx pgx.Tx, e sale.Entry) (sale.Entry, fields, error) {
		var over bool
		if err := tx.QueryRow(ctx, `SELECT $1::timestamptz <= now()`, e.ClosesAt).Scan(&over); err != nil || over {
			return e, nil, err
		}
		after, err := oneEntry(ctx, tx, `
			UPDATE sales SET closed_at = date_trunc('milliseconds', now()), rev = rev + 1 WHERE sale_id = $1 RETURNING `+entryColumns, saleID)
		return after, fields{
			"opens_at":  {e.OpensAt.Format(time.RFC3339Nano), after.OpensAt.Format(time.RFC3339Nano)},
			"closes_at": {e.ClosesAt.Format(time.RFC3339Nano), after.ClosesAt.Format(time.RFC3339Nano)},
		}, err
	})
}

// RebuildSale is RequestRebuild by an operator, of a sale at whatever epoch. It returns
// the sale's entry. above is an epoch that the next one must exceed too. A sale that is
// being rebuilt stays as it is. ErrNoSale, ErrRetired, ErrNotLoaded.
func (s *Store) RebuildSale(ctx context.Context, by sale.Actor, saleID string, above int64) (sale.Entry, error) {
	return s.operate(ctx, by, sale.ActionRebuild, saleID, func(ctx context.Context, tx pgx.Tx, e sale.Entry) (sale.Entry, fields, error) {
		switch {
		case e.Epoch == 0:
			return e, nil, ErrNotLoaded
		case e.Rebuilding:
			return e, nil, nil
		}
		after, err := nextEpoch(ctx, tx, saleID, above)
		return after, fields{"epoch": {e.Epoch, after.Epoch}, "rebuilding": {false, true}}, err
	})
}

// fields are what a change changes, each with its value before and after.
type fields map[string][2]any

// operate runs a change of a sale that no order overlaps, and records it in the same
// transaction. A change of no fields leaves no record.
func (s *Store) operate(ctx context.Context, by sale.Actor, action sale.Action, saleID string,
	change func(context.Context, pgx.Tx, sale.Entry) (sale.Entry, fields, error),
) (entry sale.Entry, err error) {
	err = s.changeSale(ctx, saleID, func(ctx context.Context, tx pgx.Tx) error {
		before, err := oneEntry(ctx, tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, saleID)
		if err != nil {
			return err
		}
		if before.Retired {
			return ErrRetired
		}
		var changed fields
		if entry, changed, err = change(ctx, tx, before); err != nil || len(changed) == 0 {
			return err
		}
		return record(ctx, tx, by, action, saleID, "", changed)
	})
	if err != nil {
		return sale.Entry{}, fmt.Errorf("cannot %s sale %s: %w", action, saleID, err)
	}
	return entry, nil
}
