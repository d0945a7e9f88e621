package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

const (
	letterColumns  = `id, sale_id, epoch, sequence, coalesce(rid::text, ''), header, payload, octet_length(payload), reason, created_at, state`
	excerptColumns = `id, sale_id, epoch, sequence, coalesce(rid::text, ''), ''::bytea, substring(payload FROM 1 FOR $5), octet_length(payload), reason, created_at, state`
)

func scanDeadLetter(row pgx.CollectableRow) (sale.DeadLetter, error) {
	var l sale.DeadLetter
	var sequence int64
	err := row.Scan(&l.ID, &l.SaleID, &l.Epoch, &sequence, &l.RID, &l.Header, &l.Payload, &l.Size, &l.Reason, &l.At, &l.State)
	l.Sequence, l.At = uint64(sequence), l.At.UTC()
	return l, err
}

// DeadLetters returns a page of dead letters, newest first, of one sale unless saleID
// is "", and in one state unless that is "". Of each payload it reads the first excerpt
// bytes, of the headers none: a hand-over has up to what NATS takes, a page of them too
// much.
func (s *Store) DeadLetters(ctx context.Context, saleID string, state sale.LetterState, p sale.Page, excerpt int) ([]sale.DeadLetter, error) {
	letters, err := read(ctx, s, scanDeadLetter, `
		SELECT `+excerptColumns+` FROM dead_letters
		WHERE ($1 = '' OR sale_id = $1) AND ($2 = '' OR state = $2) AND ($3 = 0 OR id < $3)
		ORDER BY id DESC LIMIT $4`, saleID, state, p.Before, p.Limit, excerpt)
	if err != nil {
		return nil, fmt.Errorf("cannot read dead letters: %w", err)
	}
	return letters, nil
}

// DeadLetter returns one, or ErrNoLetter.
func (s *Store) DeadLetter(ctx context.Context, id int64) (sale.DeadLetter, error) {
	letters, err := read(ctx, s, scanDeadLetter, `SELECT `+letterColumns+` FROM dead_letters WHERE id = $1`, id)
	if err == nil && len(letters) == 0 {
		err = ErrNoLetter
	}
	if err != nil {
		return sale.DeadLetter{}, fmt.Errorf("cannot read dead letter %d: %w", id, err)
	}
	return letters[0], nil
}

// SettleLetter marks an open dead letter as retried or dropped and returns it.
// Repeated, it changes nothing. ErrNoLetter, or ErrLetterSettled beside the letter
// when it has the other mark.
func (s *Store) SettleLetter(ctx context.Context, by sale.Actor, id int64, state sale.LetterState) (letter sale.DeadLetter, err error) {
	action := sale.ActionLetterDropped
	if state == sale.LetterRetried {
		action = sale.ActionLetterRetried
	}
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		letters, err := collect(ctx, tx, scanDeadLetter, `SELECT `+letterColumns+` FROM dead_letters WHERE id = $1 FOR UPDATE`, id)
		switch {
		case err != nil:
			return err
		case len(letters) == 0:
			return ErrNoLetter
		}
		letter = letters[0]
		switch letter.State {
		case state:
			return nil
		case sale.LetterOpen:
		default:
			return ErrLetterSettled
		}
		letter.State = state
		if _, err := tx.Exec(ctx, `UPDATE dead_letters SET state = $2 WHERE id = $1`, id, state); err != nil {
			return err
		}
		return record(ctx, tx, by, action, letter.SaleID, fmt.Sprint(id), fields{"state": {sale.LetterOpen, state}})
	})
	if err != nil {
		return letter, fmt.Errorf("cannot mark dead letter %d as %s: %w", id, state, err)
	}
	return letter, nil
}
