package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// listChange is how an allow list differs from the one before.
type listChange struct{ before, added, removed int64 }

func (l listChange) changed() bool { return l.added+l.removed > 0 }

// describe says what changes for people; had and has are whether the list counts.
func (l listChange) describe(had, has bool) (c sale.FieldChange, differs bool) {
	const everybody = "everybody"
	c = sale.FieldChange{Field: sale.AllowListField, Before: everybody, After: everybody}
	if had {
		c.Before = fmt.Sprintf("%d users", l.before)
	}
	if has {
		c.After = fmt.Sprintf("%d users (%d added, %d removed)", l.before+l.added-l.removed, l.added, l.removed)
	}
	return c, had != has || l.changed()
}

// writeAllowList makes a sale's list the given users, without repeats. Rows that stay are
// not touched.
func writeAllowList(ctx context.Context, tx pgx.Tx, saleID string, users []string) (l listChange, err error) {
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM sale_allow WHERE sale_id = $1`, saleID).Scan(&l.before); err != nil {
		return l, err
	}
	if l.before == 0 && len(users) == 0 {
		return l, nil
	}
	removed, err := tx.Exec(ctx, `
		DELETE FROM sale_allow a WHERE a.sale_id = $1
			AND NOT EXISTS (SELECT FROM unnest($2::text[]) AS u (id) WHERE u.id COLLATE "C" = a.user_id)`, saleID, users)
	if err != nil {
		return l, fmt.Errorf("remove users from the allow list: %w", err)
	}
	added, err := tx.Exec(ctx, `
		INSERT INTO sale_allow (sale_id, user_id) SELECT $1, u.id FROM unnest($2::text[]) AS u (id)
		WHERE NOT EXISTS (SELECT FROM sale_allow a WHERE a.sale_id = $1 AND a.user_id = u.id COLLATE "C")`, saleID, users)
	if err != nil {
		return l, fmt.Errorf("add users to the allow list: %w", err)
	}
	l.removed, l.added = removed.RowsAffected(), added.RowsAffected()
	return l, nil
}

// allowList returns the users a sale's allow list names, sorted.
func allowList(ctx context.Context, tx pgx.Tx, saleID string) ([]string, error) {
	return collect(ctx, tx, pgx.RowTo[string],
		`SELECT user_id FROM sale_allow WHERE sale_id = $1 ORDER BY user_id`, saleID)
}

func eachUser(ctx context.Context, tx pgx.Tx, saleID string, pass func([]string) error) error {
	return eachPage(ctx, tx, allowPage, pgx.RowTo[string], pass,
		`SELECT user_id FROM sale_allow WHERE sale_id = $1 ORDER BY user_id`, saleID)
}

// AllowList reads a sale's entry, for which it calls begin, and its allow list as of the
// same moment, a page at a time. It takes as long as the context allows. ErrNoSale.
func (s *Store) AllowList(ctx context.Context, saleID string, begin func(sale.Entry) error, page func([]string) error) error {
	err := s.snapshotTx(ctx, func(tx pgx.Tx) error {
		e, err := oneEntry(ctx, tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, saleID)
		if err != nil {
			return err
		}
		if err := begin(e); err != nil {
			return err
		}
		return eachUser(ctx, tx, saleID, page)
	})
	if err != nil {
		return fmt.Errorf("cannot read the allow list of sale %s: %w", saleID, err)
	}
	return nil
}

// LockAllowList makes the caller the only one that brings the sale's allow list to Redis,
// or returns ErrLocked at once. Two would do the same work twice, and no harm.
func (s *Store) LockAllowList(ctx context.Context, saleID string) (unlock func(), err error) {
	if err := sale.ValidateID(saleID); err != nil { // it becomes a part of the statement
		return nil, err
	}
	return s.lockSession(ctx, `hashtextextended('sluice/allow/' || current_schema() || '/`+saleID+`', 0)`)
}

// RestoreAllowList makes known what Redis or the catalogue tell of a sale's allow list and
// this copy of Postgres may have forgotten: users are the list of rev, as Redis has it, nil
// when it has none; newest is the number of the last one that there was. Unless one of
// them or this copy's own is the newest, the sale is paused, and lost is true: its
// operator applies the sales file again, then resumes it. Repeated, it changes nothing.
func (s *Store) RestoreAllowList(ctx context.Context, saleID string, users []string, rev, newest int64) (lost bool, err error) {
	err = s.bulkTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, oneApplier, saleID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, closeGate, saleID); err != nil {
			return err
		}
		lost, err = restoreAllowList(ctx, tx, saleID, users, rev, newest)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("cannot restore the allow list of sale %s: %w", saleID, err)
	}
	return lost, nil
}

func restoreAllowList(ctx context.Context, tx pgx.Tx, saleID string, users []string, rev, newest int64) (lost bool, err error) {
	e, err := oneEntry(ctx, tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, saleID)
	if err != nil || !e.Eligibility.HasAllowList {
		return false, err
	}
	var empty bool
	if err := tx.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM sale_allow WHERE sale_id = $1)`, saleID).Scan(&empty); err != nil {
		return false, err
	}
	own := e.AllowRev
	if empty {
		own = -1
	}
	if len(users) > 0 && rev > own {
		if _, err := writeAllowList(ctx, tx, saleID, users); err != nil {
			return false, err
		}
		own = rev
	}
	lost = own < max(newest, 0)
	if own == e.AllowRev && !lost || lost && e.Paused && e.AllowRev == newest {
		return lost, nil
	}
	if _, err = tx.Exec(ctx, `
		UPDATE sales SET allow_rev = greatest($2::bigint, allow_rev), paused = paused OR $3, rev = rev + 1 WHERE sale_id = $1`,
		saleID, max(own, newest), lost); err != nil || !lost || e.Paused {
		return lost, err
	}
	return lost, record(ctx, tx, sale.Actor{Who: restorer}, sale.ActionPause, saleID, "", fields{"paused": {false, true}})
}
