package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const unlockTimeout = 2 * time.Second

// Advisory locks of what one process at a time does for all sales.
const (
	recoveryLock  = `hashtextextended('sluice/recovery/' || current_schema(), 0)`
	reconcileLock = `hashtextextended('sluice/reconcile/' || current_schema(), 0)`
)

// lockSession takes an advisory lock, or returns ErrLocked at once. The lock lives as
// long as its connection, one of the pool: it ends with unlock or when Postgres loses
// the connection.
func (s *Store) lockSession(ctx context.Context, key string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	var locked bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(`+key+`)`).Scan(&locked); err != nil {
		dropConn(conn)
		return nil, err
	}
	if !locked {
		conn.Release()
		return nil, ErrLocked
	}
	return func() { unlockSession(conn, key) }, nil
}

// unlockSession gives the connection back without the lock, whatever happens: one
// that does not answer is closed, and Postgres ends the lock with it.
func unlockSession(conn *pgxpool.Conn, key string) {
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_unlock(`+key+`)`); err != nil {
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
