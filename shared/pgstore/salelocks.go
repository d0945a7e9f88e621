package pgstore

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
)

// saleLock is the advisory lock of the sale $1 in this schema.
const saleLock = `hashtextextended('sluice/sale/' || current_schema() || '/' || $1, 0)`

// saleLocks are those that this store has. They share one connection of the pool, which
// is taken with the first and given back with the last, so that any number of sales may
// be loaded at once.
type saleLocks struct {
	mu   sync.Mutex
	conn *pgxpool.Conn            // nil while there is none
	stop func()                   // ends the renewing of conn's lease
	held map[string]*pgxpool.Conn // by sale; of an earlier connection when the lock is lost
}

// LockSale makes the caller the only one that loads or rebuilds the sale, or returns
// ErrLocked at once. The lock ends with unlock, when Postgres loses the connection, or
// when the process is frozen.
func (s *Store) LockSale(ctx context.Context, saleID string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	l := &s.locks
	l.mu.Lock()
	defer l.mu.Unlock()
	locked := false
	if l.held[saleID] == nil { // a session gets a lock that it has once more
		locked, err = l.take(ctx, s.pool, saleID)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot lock sale %s: %w", saleID, err)
	case !locked:
		return nil, fmt.Errorf("cannot lock sale %s: %w", saleID, ErrLocked)
	}
	return func() { l.unlock(saleID) }, nil
}

func (l *saleLocks) take(ctx context.Context, pool *pgxpool.Pool, saleID string) (locked bool, err error) {
	if l.conn == nil {
		if err := l.begin(ctx, pool); err != nil {
			return false, err
		}
	}
	if err := l.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(`+saleLock+`)`, saleID).Scan(&locked); err != nil {
		l.drop() // with the others' locks, which they can do without
		return false, err
	}
	if locked {
		if l.held == nil {
			l.held = make(map[string]*pgxpool.Conn)
		}
		l.held[saleID] = l.conn
	}
	l.giveBack()
	return locked, nil
}

func (l *saleLocks) begin(ctx context.Context, pool *pgxpool.Pool) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, lockLease); err != nil {
		dropConn(conn)
		return err
	}
	l.conn, l.stop = conn, renew(l.renewed)
	return nil
}

// renewed never waits for mu, so that whoever has it may stop the renewing; a session
// that somebody uses needs no renewing.
func (l *saleLocks) renewed() bool {
	if !l.mu.TryLock() {
		return true
	}
	defer l.mu.Unlock()
	if ping(l.conn) == nil {
		return true
	}
	dropConn(l.conn)
	l.conn = nil
	return false
}

// unlock ends the lock, whatever happens: a connection that does not answer is closed,
// and Postgres ends its locks with it.
func (l *saleLocks) unlock(saleID string) {
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	conn := l.held[saleID]
	delete(l.held, saleID)
	if conn == nil || conn != l.conn {
		return // ended with its connection
	}
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_unlock(`+saleLock+`)`, saleID); err != nil {
		l.drop()
		return
	}
	l.giveBack()
}

// giveBack returns the connection to the pool once no lock is on it.
func (l *saleLocks) giveBack() {
	for _, conn := range l.held {
		if conn == l.conn {
			return
		}
	}
	l.stop()
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	if _, err := l.conn.Exec(ctx, noLease); err != nil {
		l.drop()
		return
	}
	l.conn.Release()
	l.conn = nil
}

// drop gives the connection up, with the locks on it.
func (l *saleLocks) drop() {
	l.stop()
	dropConn(l.conn)
	l.conn = nil
}
