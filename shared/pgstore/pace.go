package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// PacePaused reports whether operators have stopped the writing of orders, of all
// workers and sales.
func (s *Store) PacePaused(ctx context.Context) (bool, error) {
	rows, err := read(ctx, s, pgx.RowTo[bool], `SELECT EXISTS (SELECT FROM pace WHERE paused)`)
	if err != nil {
		return false, fmt.Errorf("cannot read the pause of the pace: %w", err)
	}
	return rows[0], nil
}

// SetPacePaused stops the writing of orders, or lets it go on. It is recorded in the
// audit log, under no sale, only if it changes something.
func (s *Store) SetPacePaused(ctx context.Context, by sale.Actor, paused bool) error {
	action := sale.ActionPaceResume
	if paused {
		action = sale.ActionPacePause
	}
	err := s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE pace SET paused = $1 WHERE paused <> $1`, paused)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return record(ctx, tx, by, action, "", "", fields{"paused": {!paused, paused}})
	})
	if err != nil {
		return fmt.Errorf("cannot %s: %w", action, err)
	}
	return nil
}
