package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrUnchecked is what a store with Config.Checked fails with while nobody has compared
// this server process with the other stores: it may have been restored from an older copy.
var ErrUnchecked = errors.New("postgres was restarted and not yet compared with the other stores")

// ServerState is what is known of the server process that answers.
type ServerState string

// States of a server process.
const (
	ServerUnknown ServerState = ""        // it has started since anybody looked
	ServerBehind  ServerState = "behind"  // it lacks what the other stores know, and is being brought back
	ServerCurrent ServerState = "current" // it has everything
)

// Server is one server process: every start of Postgres, and every other server of a
// cluster, is another.
type Server struct {
	StartedAt time.Time
	State     ServerState
}

// Server says which server process answers and what is known of it. One that nobody has
// looked at is behind when another was that had this data: its recovery was broken off,
// and a comparison might not see what is still missing.
func (s *Store) Server(ctx context.Context) (Server, error) {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	var server Server
	err := s.pool.QueryRow(ctx, `
		SELECT pg_postmaster_start_time(),
			coalesce((SELECT state FROM server_checks WHERE started_at = pg_postmaster_start_time()),
				(SELECT state FROM server_checks WHERE state = 'behind' LIMIT 1), '')`).
		Scan(&server.StartedAt, &server.State)
	if err != nil {
		return Server{}, fmt.Errorf("cannot read which postgres answers: %w", err)
	}
	return server, nil
}

// Uncompared reports whether workers have worked with this data, and none has compared
// the server process that answers: it may have been restored from an older copy.
func (s *Store) Uncompared(ctx context.Context) (bool, error) {
	found, err := read(ctx, s, pgx.RowTo[bool], `
		SELECT EXISTS (SELECT FROM server_checks)
			AND NOT EXISTS (SELECT FROM server_checks WHERE started_at = pg_postmaster_start_time() AND state = 'current')`)
	if err != nil {
		return false, fmt.Errorf("cannot read whether postgres was compared: %w", err)
	}
	return found[0], nil
}

// NoteServer notes what was found about the server process that answers, and nothing when
// that is another one by now: what was found is not about its data. Once it is current,
// those that were behind with the same data are forgotten.
func (s *Store) NoteServer(ctx context.Context, server Server) error {
	err := s.update(ctx, `
		WITH noted AS (
			INSERT INTO server_checks (started_at, state) SELECT $1, $2 WHERE pg_postmaster_start_time() = $1
			ON CONFLICT (started_at) DO UPDATE SET state = EXCLUDED.state, checked_at = now()
			RETURNING started_at, state
		)
		DELETE FROM server_checks c USING noted n WHERE n.state = 'current' AND c.state = 'behind' AND c.started_at <> n.started_at`,
		server.StartedAt, string(server.State))
	if err != nil {
		return fmt.Errorf("cannot note that postgres is %s: %w", server.State, err)
	}
	return nil
}

// mustBeCurrent refuses a new connection to a server process that was not compared. It
// costs one round trip a connection, and nothing after that: a connection does not
// outlive its server.
func mustBeCurrent(ctx context.Context, conn *pgx.Conn) error {
	var current bool
	err := conn.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM server_checks WHERE started_at = pg_postmaster_start_time() AND state = 'current')`).Scan(&current)
	if err != nil {
		return fmt.Errorf("cannot read whether postgres was checked: %w", err)
	}
	if !current {
		return ErrUnchecked
	}
	return nil
}

// LockRecovery makes the caller the only process that compares the server with the
// other stores and brings it back, or returns ErrLocked at once.
func (s *Store) LockRecovery(ctx context.Context) (unlock func(), err error) {
	return s.lockSession(ctx, recoveryLock)
}
