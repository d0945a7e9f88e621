package pgstore

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	unlockTimeout = 2 * time.Second

	// A process that holds a lock and is frozen keeps its connection: the kernel answers
	// for it. Postgres ends the session of one that has said nothing for so long.
	lockLease  = `SET idle_session_timeout = '10s'`
	noLease    = `RESET idle_session_timeout`
	renewLease = 2 * time.Second
)

// Advisory locks of what one process at a time does for all sales.
const (
	recoveryLock  = `hashtextextended('sluice/recovery/' || current_schema(), 0)`
	reconcileLock = `hashtextextended('sluice/reconcile/' || current_schema(), 0)`
)

// lockSession takes an advisory lock, or returns ErrLocked at once. The lock lives as
// long as its connection, one of the pool: it ends with unlock, when Postgres loses the
// connection, or when the process is frozen.
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
	if _, err := conn.Exec(ctx, lockLease); err != nil {
		dropConn(conn)
		return nil, err
	}
	stop := renew(func() bool { return ping(conn) == nil })
	return func() {
		stop()
		unlockSession(conn, key)
	}, nil
}

// renew shows Postgres that the process is alive, as long as alive says so, until stop
// returns. A session that is lost stays lost: whoever holds its lock goes on beside the
// next one.
func renew(alive func() bool) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(renewLease):
			}
			if !alive() {
				return
			}
		}
	})
	return func() {
		cancel()
		renewing.Wait()
	}
}

// ping has a time of its own: to cancel a call would end the session.
func ping(conn *pgxpool.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	return conn.Ping(ctx)
}

// unlockSession gives the connection back without the lock, whatever happens: one
// that does not answer is closed, and Postgres ends the lock with it.
func unlockSession(conn *pgxpool.Conn, key string) {
	ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
	defer cancel()
	_, err := conn.Exec(ctx, `SELECT pg_advisory_unlock(`+key+`)`)
	if err == nil {
		_, err = conn.Exec(ctx, noLease)
	}
	if err != nil {
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
	own := conn.Hijack()
	forget(own)
	_ = own.Close(ctx)
}
