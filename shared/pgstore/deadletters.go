package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Unreadable is a hand-over that cannot be decoded.
type Unreadable struct {
	SaleID   string
	Epoch    int64  // as its header says; 0 when that cannot be read either
	Sequence uint64 // in the stream
	Header   []byte // as NATS writes it
	Body     []byte
	Cause    error // why it cannot be decoded
}

// Bury writes the dead letter of a hand-over. created is false when it has one
// already.
func (s *Store) Bury(ctx context.Context, u Unreadable) (created bool, err error) {
	letter := deadLetter{
		saleID: u.SaleID, epoch: max(u.Epoch, 0), sequence: u.Sequence, header: u.Header, payload: u.Body, reason: reasonOf(u.Cause),
	}
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		created, err = letter.insert(ctx, tx)
		if err == nil && !created { // the hand-over is about to be acknowledged
			err = awaitStandby(ctx, tx)
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("cannot bury hand-over %d of sale %s: %w", u.Sequence, u.SaleID, err)
	}
	return created, nil
}

// deadLetter is a row of dead_letters.
type deadLetter struct {
	saleID          string
	epoch           int64
	sequence        uint64
	rid             string // "" for a hand-over
	header, payload []byte
	reason          string
}

// insert writes the row unless it is there.
func (l deadLetter) insert(ctx context.Context, tx pgx.Tx) (created bool, err error) {
	tag, err := tx.Exec(ctx, `
		INSERT INTO dead_letters (sale_id, epoch, sequence, rid, header, payload, reason)
		VALUES ($1, $2, $3, nullif($4::text, '')::uuid, $5, $6, $7)
		ON CONFLICT DO NOTHING`,
		l.saleID, l.epoch, int64(l.sequence), l.rid, bytesOf(l.header), bytesOf(l.payload), l.reason)
	if err != nil {
		return false, fmt.Errorf("insert dead letter: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// bytesOf is never nil, which would be NULL.
func bytesOf(b []byte) []byte { return append([]byte{}, b...) }

// Undecided returns those of rids that Postgres has decided nothing about:
// they have neither an order nor a dead letter.
func (s *Store) Undecided(ctx context.Context, rids []string) ([]string, error) {
	asked := make([]string, 0, len(rids))
	for _, rid := range rids {
		if isRID(rid) {
			asked = append(asked, rid)
		}
	}
	undecided, err := read(ctx, s, pgx.RowTo[string], `
		SELECT r.id::text FROM unnest($1::text[]::uuid[]) AS r (id)
		WHERE NOT EXISTS (SELECT FROM orders o WHERE o.id = r.id)
			AND NOT EXISTS (SELECT FROM dead_letters d WHERE d.rid = r.id)`, asked)
	if err != nil {
		return nil, fmt.Errorf("cannot read which of %d reservations are undecided: %w", len(rids), err)
	}
	return undecided, nil
}
