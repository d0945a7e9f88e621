package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Settings are what Postgres says about itself, to connections like this store's.
type Settings struct {
	Version           int // 150004 is 15.4
	Fsync             string
	FullPageWrites    string
	SynchronousCommit string
	SyncStandbyNames  string
	SyncStandbys      int  // that follow and must acknowledge commits
	StandbysHidden    bool // this role may not see in which state standbys are
	InRecovery        bool // a standby itself
	Now               time.Time

	Hosts int `db:"-"` // that the URL names
}

// Settings reads the server's settings.
func (s *Store) Settings(ctx context.Context) (Settings, error) {
	found, err := read(ctx, s, pgx.RowToStructByPos[Settings], `
		SELECT current_setting('server_version_num')::int, current_setting('fsync'), current_setting('full_page_writes'),
			current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
			(SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum') AND state = 'streaming')::int,
			(SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state IS NULL),
			pg_is_in_recovery(), clock_timestamp()`)
	if err != nil {
		return Settings{}, fmt.Errorf("cannot read postgres settings: %w", err)
	}
	found[0].Hosts = s.hosts
	return found[0], nil
}
