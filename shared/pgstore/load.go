package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// BeginLoad gives the caller an epoch of its own to load: the one that was requested,
// if nobody has begun with it, else the next. It is above the given one in any case. The
// sale is marked as rebuilding, and a load that was broken off is forgotten. It returns
// the entry to announce, or ErrNoSale, ErrRetired.
func (s *Store) BeginLoad(ctx context.Context, saleID string, above int64) (sale.Entry, error) {
	var entry sale.Entry
	err := s.changeSale(ctx, saleID, func(ctx context.Context, tx pgx.Tx) (err error) {
		entry, err = oneEntry(ctx, tx, `
			UPDATE sales SET loading_epoch = epoch
			WHERE sale_id = $1 AND rebuilding AND NOT retired AND loading_epoch < epoch AND epoch > $2
			RETURNING `+entryColumns, saleID, above)
		if !errors.Is(err, ErrNoSale) {
			return err
		}
		if entry, err = nextEpoch(ctx, tx, saleID, above); err == nil {
			_, err = tx.Exec(ctx, `UPDATE sales SET loading_epoch = epoch WHERE sale_id = $1`, saleID)
		}
		return err
	})
	if err != nil {
		return sale.Entry{}, fmt.Errorf("cannot begin load of sale %s: %w", saleID, err)
	}
	return entry, nil
}

func nextEpoch(ctx context.Context, tx pgx.Tx, saleID string, above int64) (sale.Entry, error) {
	// The sequence of a load that never went live is nobody's border: what waits
	// behind it is a matter for the load that begins now.
	_, err := tx.Exec(ctx, `
		DELETE FROM rebuilds r USING sales s
		WHERE s.sale_id = $1 AND s.rebuilding AND r.sale_id = s.sale_id AND r.epoch = s.epoch`, saleID)
	if err != nil {
		return sale.Entry{}, err
	}
	entry, err := oneEntry(ctx, tx, `
		UPDATE sales SET epoch = greatest(epoch, $2) + 1, rebuilding = true, rev = rev + 1
		WHERE sale_id = $1 RETURNING `+entryColumns, saleID, above)
	if err == nil && entry.Retired {
		return entry, ErrRetired // rolls the epoch back
	}
	return entry, err
}

// RequestRebuild begins the rebuild of a sale, to be run by any worker, unless one is
// under way or, with at > 0, the sale has left that epoch. It returns the entry as it
// then is, and whether this call made the request. above is an epoch that the next
// one must exceed too. ErrNoSale, ErrRetired, ErrNotLoaded.
func (s *Store) RequestRebuild(ctx context.Context, saleID string, at, above int64) (entry sale.Entry, requested bool, err error) {
	err = s.changeSale(ctx, saleID, func(ctx context.Context, tx pgx.Tx) (err error) {
		entry, err = oneEntry(ctx, tx, `SELECT `+entryColumns+` FROM sales WHERE sale_id = $1`, saleID)
		switch {
		case err != nil:
			return err
		case entry.Retired:
			return ErrRetired
		case entry.Epoch == 0:
			return ErrNotLoaded
		case entry.Rebuilding || at > 0 && entry.Epoch != at:
			return nil
		}
		entry, err = nextEpoch(ctx, tx, saleID, above)
		requested = err == nil
		return err
	})
	if err != nil {
		return sale.Entry{}, false, fmt.Errorf("cannot request rebuild of sale %s: %w", saleID, err)
	}
	return entry, requested, nil
}

// SetLastSequence notes up to which hand-over the load of this epoch orders those of
// older epochs; ErrStaleEpoch when a later load has begun, or
// this one has ended.
func (s *Store) SetLastSequence(ctx context.Context, saleID string, epoch int64, sequence uint64) error {
	// Behind the closed gate: who still found no note has committed, so that the count
	// which follows sees it.
	err := s.changeSale(ctx, saleID, func(ctx context.Context, tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO rebuilds (sale_id, epoch, last_seq)
			SELECT sale_id, epoch, $3 FROM sales WHERE sale_id = $1 AND epoch = $2 AND rebuilding
			ON CONFLICT (sale_id, epoch) DO UPDATE SET last_seq = EXCLUDED.last_seq`, saleID, epoch, int64(sequence))
		if err == nil && tag.RowsAffected() == 0 {
			return ErrStaleEpoch
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot note the last sequence of sale %s at epoch %d: %w", saleID, epoch, err)
	}
	return nil
}

// FinishLoad ends the rebuild of this epoch and returns the entry to announce.
// Repeated, it changes nothing. ErrStaleEpoch when a later load has begun.
func (s *Store) FinishLoad(ctx context.Context, saleID string, epoch int64) (sale.Entry, error) {
	var entry sale.Entry
	err := s.changeSale(ctx, saleID, func(ctx context.Context, tx pgx.Tx) (err error) {
		entry, err = oneEntry(ctx, tx, `
			UPDATE sales SET rebuilding = false, rev = rev + rebuilding::integer
			WHERE sale_id = $1 RETURNING `+entryColumns, saleID)
		if err == nil && entry.Epoch != epoch {
			return ErrStaleEpoch // rolls the update back
		}
		return err
	})
	if err != nil {
		return sale.Entry{}, fmt.Errorf("cannot finish load of sale %s at epoch %d: %w", saleID, epoch, err)
	}
	return entry, nil
}

// LoadState is what the Redis state of a sale is made of.
type LoadState struct {
	Total     int64 // units
	Held      int64 // units that orders hold
	Orders    []sale.Order
	AllowList []string // sorted user ids
}

// LoadState reads a sale as of one moment. It takes as long as the context
// allows. ErrNoSale if there is none.
func (s *Store) LoadState(ctx context.Context, saleID string) (LoadState, error) {
	var state LoadState
	err := s.snapshotTx(ctx, func(tx pgx.Tx) (err error) {
		if state.Total, state.Held, err = stock(ctx, tx, saleID); err != nil {
			return err
		}
		if state.Orders, err = ordersOfSale(ctx, tx, saleID); err != nil {
			return err
		}
		state.AllowList, err = allowList(ctx, tx, saleID)
		return err
	})
	if err != nil {
		return LoadState{}, fmt.Errorf("cannot read load state of sale %s: %w", saleID, err)
	}
	return state, nil
}
