package collect

import (
	"context"
	"fmt"
	"time"

	"sluice/loadtest/internal/wait"
)

// Activity is what the database has done since its statistics began. Postgres adds a
// connection's share up to some seconds after its commit.
type Activity struct {
	Rows         int64 // inserted, updated and deleted
	Transactions int64 // that ended, read-only ones and those rolled back included
}

// Since is what was added to what it was before.
func (a Activity) Since(before Activity) Activity {
	return Activity{Rows: a.Rows - before.Rows, Transactions: a.Transactions - before.Transactions}
}

// Activity reads what the database has done.
func (s *Stores) Activity(ctx context.Context) (a Activity, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	err = s.database.QueryRow(ctx, `
		SELECT tup_inserted + tup_updated + tup_deleted, xact_commit + xact_rollback
		FROM pg_stat_database WHERE datname = current_database()`).Scan(&a.Rows, &a.Transactions)
	if err != nil {
		return a, fmt.Errorf("cannot read database statistics: %w", err)
	}
	return a, nil
}

// Writes counts the rows of Activity.
func (s *Stores) Writes(ctx context.Context) (int64, error) {
	a, err := s.Activity(ctx)
	return a.Rows, err
}

const (
	statsPause = time.Second
	grownBy    = 200 // statistics that grow by less than one in so many have arrived

	toldWithin = 15 * time.Second // a connection that does nothing more tells its share after 10 s
)

// Written counts the rows of Did.
func (s *Stores) Written(ctx context.Context, before, atLeast int64, patience time.Duration) (int64, error) {
	did, err := s.Did(ctx, Activity{Rows: before}, atLeast, patience)
	return did.Rows, err
}

// Did is what the database has done since before. Postgres counts a connection's share some
// seconds late: there are as many rows as atLeast, and then they stop growing. What has not
// come by then is given up after patience, but not before Postgres must have told it.
func (s *Stores) Did(ctx context.Context, before Activity, atLeast int64, patience time.Duration) (Activity, error) {
	deadline := time.Now().Add(max(patience, toldWithin))
	for last := int64(0); ; {
		now, err := s.Activity(ctx)
		if err != nil {
			return Activity{}, err
		}
		did := now.Since(before)
		if did.Rows >= atLeast && (did.Rows-last)*grownBy <= did.Rows || time.Now().After(deadline) {
			return did, nil
		}
		last = did.Rows
		if !wait.For(ctx, statsPause) {
			return Activity{}, fmt.Errorf("cannot count database writes: %w", ctx.Err())
		}
	}
}
