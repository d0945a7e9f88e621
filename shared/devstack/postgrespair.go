package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// pairSettings are what a standby needs to follow closely.
var pairSettings = []string{"hot_standby=on", "wal_retrieve_retry_interval=200ms", "wal_receiver_status_interval=1s", "max_slot_wal_keep_size=2GB"}

// PostgresPair is a primary and a standby that follows it by streaming, through a slot:
//
//	primary ══ commits wait for ══► standby
//	   │                               │
//	   └── Failover: fenced            └─► primary, commits alone
//	          │                               ▲
//	          └── Rejoin: a new base backup ──┘ standby: commits wait for it
//
// Methods are safe for concurrent use; those that change who is what wait for each other.
type PostgresPair struct {
	programs postgresRunner
	temp     *tempDir // nil when the caller chose the directory

	changing sync.Mutex // held while who is what changes

	mu               sync.Mutex
	nodes            []*Server // of the URL, in its order
	primary, standby *Server
	apart            bool // standby does not follow the primary, or is not waited for, until it has rejoined
}

// StartPostgresPair starts a primary, makes a base backup of it, starts a standby on that
// and has commits wait for it. It returns once the standby is synchronous. On an error
// nothing is left behind.
func StartPostgresPair(ctx context.Context, o Options) (*PostgresPair, error) {
	programs, err := postgresPrograms()
	if err != nil {
		return nil, err
	}
	p := &PostgresPair{programs: programs}
	if o.Dir == "" {
		if p.temp, err = newTempDir(); err != nil {
			return nil, err
		}
		o.Dir = p.temp.path
	}
	o.PostgresSettings = append(pairSettings[:len(pairSettings):len(pairSettings)], o.PostgresSettings...)
	if err := p.start(ctx, o); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *PostgresPair) start(ctx context.Context, o Options) (err error) {
	p.primary, err = p.programs.start(ctx, o, "postgres-1", func(data string) error {
		return makeDataDir(ctx, p.programs.postgresInstall, p.programs.account, data)
	})
	if err != nil {
		return err
	}
	p.nodes = append(p.nodes, p.primary)
	p.standby, err = p.programs.start(ctx, o, "postgres-2", func(data string) error { return p.backUp(ctx, p.primary, "postgres-2", data) })
	if err != nil {
		return err
	}
	p.nodes = append(p.nodes, p.standby)
	return p.SetSynchronous(ctx, true)
}

// backUp makes the data directory of a standby that calls itself name and follows from.
func (p *PostgresPair) backUp(ctx context.Context, from *Server, name, data string) error {
	slot := strings.ReplaceAll(name, "-", "_")
	// The slot of the standby that was there before is of no use any more.
	if _, err := queryPostgres(ctx, from.port.Addr(), "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '"+slot+"'"); err != nil {
		return err
	}
	if err := p.programs.reach(data); err != nil {
		return err
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		return fmt.Errorf("cannot make Postgres's data directory: %w", err)
	}
	if err := p.programs.own(data); err != nil {
		return err
	}
	host, port, _ := strings.Cut(from.port.Addr(), ":")
	conninfo := fmt.Sprintf("host=%s port=%s user=postgres application_name=%s", host, port, name)
	return run(p.programs.runs(exec.CommandContext(ctx, p.programs.sibling("pg_basebackup"),
		"--pgdata="+data, "--dbname="+conninfo, "--wal-method=stream", "--create-slot", "--slot="+slot, "--write-recovery-conf", "--checkpoint=fast")))
}

// URL returns what clients connect to: both servers, of which they want the one that
// takes writes. It stays the same whoever that is.
func (p *PostgresPair) URL() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	hosts := make([]string, len(p.nodes))
	for i, s := range p.nodes {
		hosts[i] = s.port.Addr()
	}
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Host: strings.Join(hosts, ","), Path: "/postgres",
		RawQuery: "sslmode=disable&target_session_attrs=read-write"}
	return u.String()
}

// Primary returns the server that was last made the primary, dead or not.
func (p *PostgresPair) Primary() *Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.primary
}

// Standby returns the other server: after a failover the old primary, until it is a
// standby again by Rejoin.
func (p *PostgresPair) Standby() *Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.standby
}

// SetSynchronous has commits wait for the standby, once it is in step, or no longer wait:
// those that wait then go on at once.
func (p *PostgresPair) SetSynchronous(ctx context.Context, on bool) error {
	primary, standby, names := p.Primary(), p.Standby(), ""
	if on {
		if err := p.awaitStandby(ctx, "state = 'streaming' AND flush_lsn >= pg_current_wal_flush_lsn()"); err != nil {
			return err
		}
		names = `"` + standby.name + `"`
	}
	if err := alterPostgres(ctx, primary, "synchronous_standby_names", names); err != nil || !on {
		return err
	}
	return p.awaitStandby(ctx, "state = 'streaming' AND sync_state = 'sync'")
}

// alterPostgres changes a setting that needs no restart, and keeps it across restarts.
func alterPostgres(ctx context.Context, s *Server, setting, value string) error {
	if _, err := queryPostgres(ctx, s.port.Addr(), "ALTER SYSTEM SET "+setting+" = '"+value+"'"); err != nil {
		return err
	}
	_, err := queryPostgres(ctx, s.port.Addr(), "SELECT pg_reload_conf()")
	return err
}

func (p *PostgresPair) awaitStandby(ctx context.Context, state string) error {
	return p.awaitRow(ctx, p.Primary(), "SELECT 1 FROM pg_stat_replication WHERE application_name = '"+p.Standby().name+"' AND "+state)
}

// awaitRow returns once a statement has a row, or when ctx ends, at most in a minute.
func (p *PostgresPair) awaitRow(ctx context.Context, s *Server, sql string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		rows, err := queryPostgres(ctx, s.port.Addr(), sql)
		if err == nil && len(rows) > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not yet so that %q: %w", s.name, sql, errors.Join(err, ctx.Err()))
		case <-time.After(probeEvery):
		}
	}
}

// Close ends both servers, frees their ports and removes their directories.
func (p *PostgresPair) Close() error {
	p.changing.Lock()
	defer p.changing.Unlock()
	errs := make([]error, len(p.nodes))
	var wait sync.WaitGroup
	for i, s := range p.nodes {
		wait.Go(func() { errs[i] = s.Close() })
	}
	wait.Wait()
	if p.temp != nil {
		errs = append(errs, p.temp.remove())
	}
	return errors.Join(errs...)
}
