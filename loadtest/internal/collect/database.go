package collect

import (
	"context"
	"fmt"
)

// Writes counts the rows that the database has inserted, updated and deleted
// since its statistics began. Postgres adds a connection's share up to some
// seconds after its commit.
func (s *Stores) Writes(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var n int64
	err := s.database.QueryRow(ctx, `
		SELECT tup_inserted + tup_updated + tup_deleted
		FROM pg_stat_database WHERE datname = current_database()`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("cannot read database statistics: %w", err)
	}
	return n, nil
}
