package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// ErrRemains says that a sale cannot be retired: Remains says why.
var ErrRemains = errors.New("sale still has something to be done")

// Over returns the sales that closed longer ago than retention, by the database's
// clock, and are not retired, those that closed first first.
func (s *Store) Over(ctx context.Context, retention time.Duration) ([]string, error) {
	over, err := read(ctx, s, pgx.RowTo[string], `
		SELECT sale_id FROM sales
		WHERE forgotten_at IS NULL AND NOT retired AND least(closes_at, closed_at) + $1::interval <= now()
		ORDER BY least(closes_at, closed_at), sale_id`, retention)
	if err != nil {
		return nil, fmt.Errorf("cannot read sales that are over: %w", err)
	}
	return over, nil
}

// payingForSale is whether payment p is of sale $1, by a look at its order, or at the
// release of one that has no row: what is open is few, the orders of a sale are many.
const payingForSale = `(EXISTS (SELECT FROM orders o WHERE o.id = p.order_id AND o.sale_id = $1)
	OR EXISTS (SELECT FROM releases r WHERE r.rid = p.order_id AND r.sale_id = $1))`

const remainsQuery = `
	SELECT greatest(least(closes_at, closed_at) + $2::interval - now(), interval '0'),
		(SELECT count(*) FROM orders WHERE sale_id = $1 AND state = 'pending'),
		(SELECT count(*) FROM orders WHERE sale_id = $1 AND shown_state <> state AND state IN ('pending', 'paid')),
		(SELECT count(*) FROM releases WHERE sale_id = $1 AND applied_at IS NULL),
		(SELECT count(*) FROM stock_adjustments WHERE sale_id = $1 AND finished_at IS NULL),
		(SELECT count(*) FROM payments p WHERE applied_at IS NULL AND type = 'payment.succeeded' AND ` + payingForSale + `),
		` + entryColumns + `
	FROM sales WHERE sale_id = $1`

// Remains reads what keeps a sale from being retired, as of one moment; ErrNoSale
// if there is none.
func (s *Store) Remains(ctx context.Context, saleID string, retention time.Duration) (sale.Remains, error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	r, err := remains(ctx, s.pool, saleID, retention)
	if err != nil {
		return sale.Remains{}, fmt.Errorf("cannot read what remains of sale %s: %w", saleID, err)
	}
	return r, nil
}

func remains(ctx context.Context, q querier, saleID string, retention time.Duration) (sale.Remains, error) {
	rows, err := q.Query(ctx, remainsQuery, saleID, retention)
	if err != nil {
		return sale.Remains{}, err
	}
	r, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (r sale.Remains, err error) {
		err = row.Scan(append([]any{&r.Wait, &r.Pending, &r.Unshown, &r.Unapplied, &r.Adjusting, &r.Paying}, entryFields(&r.Entry)...)...)
		return r, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return sale.Remains{}, ErrNoSale
	}
	return r, err
}

// Retire ends a sale for good, behind its gate, and returns the entry to announce.
// Repeated, it changes nothing. ErrRemains when Postgres has something left to do,
// ErrStaleEpoch when the sale was rebuilt since the caller looked.
func (s *Store) Retire(ctx context.Context, saleID string, epoch int64, retention time.Duration) (sale.Entry, error) {
	var entry sale.Entry
	err := s.changeSale(ctx, saleID, func(ctx context.Context, tx pgx.Tx) error {
		// The row comes before the look: what the look counts is of this moment only
		// if nobody changes the sale meanwhile.
		if _, err := tx.Exec(ctx, `SELECT FROM sales WHERE sale_id = $1 FOR UPDATE`, saleID); err != nil {
			return err
		}
		r, err := remains(ctx, tx, saleID, retention)
		switch {
		case err != nil:
			return err
		case r.Entry.Retired:
			entry = r.Entry
			return nil
		case r.Entry.Epoch != epoch:
			return ErrStaleEpoch
		case r.Entry.Rebuilding || r.Wait > 0 || r.Pending+r.Unshown+r.Unapplied+r.Adjusting+r.Paying > 0:
			return ErrRemains
		}
		entry, err = oneEntry(ctx, tx, `
			UPDATE sales SET retired = true, retired_at = now(), rev = rev + 1
			WHERE sale_id = $1 RETURNING `+entryColumns, saleID)
		return err
	})
	if err != nil {
		return sale.Entry{}, fmt.Errorf("cannot retire sale %s: %w", saleID, err)
	}
	return entry, nil
}

// Uncleared returns the retired sales whose keys, consumer and messages are still
// to be cleared away.
func (s *Store) Uncleared(ctx context.Context) ([]sale.Entry, error) {
	return s.retiredEntries(ctx, `cleared_at IS NULL`)
}

// Unforgotten returns the cleared sales that were retired longer than after ago, and
// whose catalogue entries are still to be removed.
func (s *Store) Unforgotten(ctx context.Context, after time.Duration) ([]sale.Entry, error) {
	return s.retiredEntries(ctx, `cleared_at IS NOT NULL AND coalesce(retired_at, '-infinity') + $1::interval <= now()`, after)
}

func (s *Store) retiredEntries(ctx context.Context, condition string, args ...any) ([]sale.Entry, error) {
	entries, err := readDurable(ctx, s, scanEntry, `
		SELECT `+entryColumns+` FROM sales
		WHERE forgotten_at IS NULL AND retired AND `+condition+` ORDER BY sale_id`, args...)
	if err != nil {
		return nil, fmt.Errorf("cannot read retired sales: %w", err)
	}
	return entries, nil
}

// MarkCleared notes that a retired sale has nothing left in Redis and the stream.
func (s *Store) MarkCleared(ctx context.Context, saleID string) error {
	return s.markRetired(ctx, saleID, `cleared_at = coalesce(cleared_at, now())`)
}

// MarkForgotten notes that a cleared sale has left the catalogue: nothing but its
// rows is left, and no loop reads it again.
func (s *Store) MarkForgotten(ctx context.Context, saleID string) error {
	return s.markRetired(ctx, saleID, `forgotten_at = now()`)
}

func (s *Store) markRetired(ctx context.Context, saleID, change string) error {
	err := s.update(ctx, `UPDATE sales SET `+change+` WHERE sale_id = $1 AND retired AND forgotten_at IS NULL`, saleID)
	if err != nil {
		return fmt.Errorf("cannot mark sale %s: %w", saleID, err)
	}
	return nil
}

// Remember takes back the marks of those forgotten sales among ids: some store that
// was restored has them again. It returns how many there are.
func (s *Store) Remember(ctx context.Context, ids []string) (n int64, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE sales SET cleared_at = NULL, forgotten_at = NULL, retired_at = now()
			WHERE sale_id = ANY ($1) AND forgotten_at < now() - interval '1 minute'`, ids)
		n = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot remember sales: %w", err)
	}
	return n, nil
}
