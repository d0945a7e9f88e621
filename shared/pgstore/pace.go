package pgstore

import (
	"context"
	"fmt"
	"time"

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

// PacePause reports the same, with who did it last and when.
func (s *Store) PacePause(ctx context.Context) (sale.PacePause, error) {
	rows, err := read(ctx, s, func(row pgx.CollectableRow) (p sale.PacePause, err error) {
		var at *time.Time
		err = row.Scan(&p.Paused, &at, &p.By.Who, &p.By.Operator, &p.By.Address)
		if at != nil {
			p.At = *at
		}
		return p, err
	}, `
		SELECT p.paused, a.at, coalesce(a.who, ''), coalesce(a.operator, ''), coalesce(a.address, '')
		FROM (SELECT EXISTS (SELECT FROM pace WHERE paused) AS paused) p
		LEFT JOIN LATERAL (SELECT at, who, operator, address FROM audit_log WHERE p.paused AND action = $1 ORDER BY id DESC LIMIT 1) a ON true`,
		sale.ActionPacePause)
	if err != nil {
		return sale.PacePause{}, fmt.Errorf("cannot read who paused the pace: %w", err)
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
