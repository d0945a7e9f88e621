package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/shared/sale"
)

const unlockTimeout = 2 * time.Second

// saleLock is the advisory lock of the sale $1 in this schema.
const saleLock = `hashtextextended('sluice/sale/' || current_schema() || '/' || $1, 0)`

// LockSale makes the caller the only process that loads or rebuilds the sale,
// or returns ErrLocked at once. The lock lives as long as its connection, one
// of the pool: it ends with unlock or when Postgres loses the connection.
func (s *Store) LockSale(ctx context.Context, saleID string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot lock sale %s: %w", saleID, err)
	}
	var locked bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(`+saleLock+`)`, saleID).Scan(&locked); err != nil {
		dropConn(conn)
		return nil, fmt.Errorf("cannot lock sale %s: %w", saleID, err)
	}
	if !locked {
		conn.Release()
		return nil, fmt.Errorf("cannot lock sale %s: %w", saleID, ErrLocked)
	}
	return func() { unlockSale(conn, saleID) }, nil
}

// unlockSale gives the connection back without the lock, whatever happens: one
// that does not answer is closed, and Postgres ends the lock with it.
func unlockSale(conn *pgxpool.Conn, saleID string) {
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_unlock(`+saleLock+`)`, saleID); err != nil {
		dropConn(conn)
		return
	}
	conn.Release()
}

// dropConn closes a connection whose session state is unknown. It is given up
// either way, so an error of Close tells nobody anything.
func dropConn(conn *pgxpool.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	_ = conn.Hijack().Close(ctx)
}

// BeginLoad makes the next epoch, above the given one too, and marks the sale
// as rebuilding: orders of older epochs are refused from here on. It returns
// the entry to announce, or ErrNoSale, ErrRetired.
func (s *Store) BeginLoad(ctx context.Context, saleID string, above int64) (sale.Entry, error) {
	var entry sale.Entry
	err := s.changeSale(ctx, saleID, func(ctx context.Context, tx pgx.Tx) (err error) {
		entry, err = oneEntry(ctx, tx, `
			UPDATE sales SET epoch = greatest(epoch, $2) + 1, rebuilding = true, rev = rev + 1
			WHERE sale_id = $1 RETURNING `+entryColumns, saleID, above)
		if err == nil && entry.Retired {
			return ErrRetired // rolls the epoch back
		}
		return err
	})
	if err != nil {
		return sale.Entry{}, fmt.Errorf("cannot begin load of sale %s: %w", saleID, err)
	}
	return entry, nil
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
