package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Refusals of a call. Match with errors.Is; every other error is a fault.
var (
	ErrNoSale     = errors.New("no such sale")
	ErrRetired    = errors.New("sale is retired")
	ErrStaleEpoch = errors.New("epoch is not the sale's current one")
	ErrLoaded     = errors.New("sale is loaded and cannot change")
	ErrLocked     = errors.New("sale is locked by another process")
	ErrInvalid    = errors.New("the database refuses a reservation for what it is")
	ErrNotLoaded  = errors.New("sale was never loaded")
	ErrRebuilding = errors.New("sale is being rebuilt")

	ErrTotalLimit      = errors.New("a sale cannot have that many units")
	ErrOtherAdjustment = errors.New("the adjustment's id is taken by another one")
	ErrNoLetter        = errors.New("no such dead letter")
	ErrLetterSettled   = errors.New("the dead letter is settled otherwise")
)

// Config of a Store. Zero values mean the defaults.
type Config struct {
	URL              string        // postgres://…; of several hosts the one that takes writes is used
	MaxConns         int32         // size of the pool, default 8
	StatementTimeout time.Duration // of one statement, default 5s; a whole call takes at most four times as long

	// BeforeCommit, unless nil, is told the name of a checkout call or job whose transaction
	// has written all it has decided, and fails it with its error: for failpoints.
	BeforeCommit func(call string) error

	// Checked refuses, with ErrUnchecked, to work with a server process that nobody has
	// compared with the other stores since it started.
	Checked bool

	// Primary is what the stores of one process share of a URL of several hosts, so that
	// each hears at once of a failover that another has met. Nil is one of the store's own.
	Primary *Primary
}

const (
	connectTimeout = 5 * time.Second
	hostTimeout    = 3 * time.Second // of each host of several
	pingWithin     = 2 * time.Second // of a connection that was idle: its server may hang
	closeWithin    = 500 * time.Millisecond
)

// Store is a pool of connections to one database. It is safe for concurrent
// use and is closed by who opened it.
type Store struct {
	pool         *pgxpool.Pool
	hosts        int // of the URL
	callTimeout  time.Duration
	beforeCommit func(call string) error
	locks        saleLocks
	lost         func(error) // unless nil, is told of each race that is lost and run again: for tests
}

// Open reads the configuration and makes the pool. It does not wait for a
// connection: Ping does.
func Open(ctx context.Context, c Config) (*Store, error) {
	if c.MaxConns == 0 {
		c.MaxConns = 8
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = 5 * time.Second
	}
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("cannot read postgres url: %w", err)
	}
	pc.MaxConns = c.MaxConns
	pc.ConnConfig.ConnectTimeout = connectTimeout
	pc.PingTimeout = pingWithin
	setSession(pc.ConnConfig.RuntimeParams, c.StatementTimeout)
	if c.Checked {
		pc.AfterConnect = mustBeCurrent
	}
	hosts := hostsOf(pc.ConnConfig)
	if hosts > 1 {
		c.Primary.follow(pc)
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("cannot make postgres pool: %w", err)
	}
	if c.BeforeCommit == nil {
		c.BeforeCommit = func(string) error { return nil }
	}
	return &Store{pool: pool, hosts: hosts, callTimeout: 4 * c.StatementTimeout, beforeCommit: c.BeforeCommit}, nil
}

// setSession bounds what a connection may hold: a process that stops in the
// middle of a transaction must not keep its row locks for ever.
func setSession(params map[string]string, statement time.Duration) {
	if params["application_name"] == "" {
		params["application_name"] = "sluice"
	}
	ms := strconv.FormatInt(statement.Milliseconds(), 10)
	params["statement_timeout"] = ms
	params["idle_in_transaction_session_timeout"] = ms
	// A machine that is gone without a word must not keep the lock of a sale for hours.
	params["tcp_keepalives_idle"], params["tcp_keepalives_interval"], params["tcp_keepalives_count"] = "10", "5", "3"
}

// Close closes every connection and waits for those in use, though not for long: one that
// a frozen Postgres does not answer on is taken leave of for 15 s, which is more than a
// process that was asked to stop has. It ends with the process.
func (s *Store) Close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		s.pool.Close()
	}()
	select {
	case <-closed:
	case <-time.After(closeWithin):
	}
}

// Ping reports whether Postgres answers.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.callTimeout)
	defer cancel()
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("cannot reach postgres: %w", err)
	}
	return nil
}
