package pgstore

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is one step of the schema. Steps are only ever appended: one that
// was applied somewhere must never change.
type migration struct {
	version  int
	name     string
	sql      string
	checksum string // SHA-256 of sql, hex
}

// readMigrations reads NNNN_name.sql files, which must count up from 0001.
func readMigrations(dir fs.FS) ([]migration, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, fmt.Errorf("cannot list migrations: %w", err)
	}
	pattern := regexp.MustCompile(`^(\d{4})_([a-z0-9_]+)\.sql$`)
	var steps []migration
	for _, entry := range entries {
		parts := pattern.FindStringSubmatch(entry.Name())
		if parts == nil {
			return nil, fmt.Errorf("migration %s is not named NNNN_name.sql", entry.Name())
		}
		version, err := strconv.Atoi(parts[1])
		if err != nil || version != len(steps)+1 {
			return nil, fmt.Errorf("migration %s follows number %04d", entry.Name(), len(steps))
		}
		sql, err := fs.ReadFile(dir, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("cannot read migration %s: %w", entry.Name(), err)
		}
		sum := sha256.Sum256(sql)
		steps = append(steps, migration{version, parts[2], string(sql), hex.EncodeToString(sum[:])})
	}
	return steps, nil
}

func embeddedMigrations() ([]migration, error) {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("cannot open migrations: %w", err)
	}
	return readMigrations(dir)
}

// Migrate brings the schema to this binary's version and returns how many
// migrations it applied: all of them or, on an error, none. Concurrent callers
// wait for each other. A migration that changed since it was applied is
// refused; a schema newer than this binary is left alone.
func (s *Store) Migrate(ctx context.Context) (applied int, err error) {
	steps, err := embeddedMigrations()
	if err != nil {
		return 0, err
	}
	err = s.bulkTx(ctx, func(tx pgx.Tx) error {
		known, err := lockedChecksums(ctx, tx)
		if err != nil {
			return err
		}
		applied, err = applyMissing(ctx, tx, steps, known)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot migrate postgres: %w", err)
	}
	return applied, nil
}

// lockedChecksums takes the migration lock of this schema until the end of the
// transaction, then reads what was applied, by version.
func lockedChecksums(ctx context.Context, tx pgx.Tx) (map[int]string, error) {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('sluice/migrate/' || current_schema(), 0))`)
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `
		CREATE TABLE IF NOT EXISTS schema_migrations (
			version    integer     PRIMARY KEY,
			name       text        NOT NULL,
			checksum   text        NOT NULL,
			applied_at timestamptz NOT NULL DEFAULT now()
		)`)
	if err != nil {
		return nil, err
	}
	rows, err := collect(ctx, tx, pgx.RowToStructByPos[struct {
		Version  int
		Checksum string
	}], `SELECT version, checksum FROM schema_migrations`)
	if err != nil {
		return nil, err
	}
	known := make(map[int]string, len(rows))
	for _, row := range rows {
		known[row.Version] = row.Checksum
	}
	return known, nil
}

func applyMissing(ctx context.Context, tx pgx.Tx, steps []migration, known map[int]string) (applied int, err error) {
	for _, step := range steps {
		checksum, done := known[step.version]
		switch {
		case done && checksum != step.checksum:
			return 0, fmt.Errorf("migration %04d_%s changed after it was applied", step.version, step.name)
		case done:
			continue
		}
		// The simple protocol takes a file of several statements.
		_, err := tx.Exec(ctx, step.sql, pgx.QueryExecModeSimpleProtocol)
		if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && pg.Code == "55P03" { // lock_not_available
			return 0, fmt.Errorf("migration %04d_%s waited too long for a table that others write, and nothing is applied: run warmup migrate again while no sale is open: %w",
				step.version, step.name, err)
		}
		if err != nil {
			return 0, fmt.Errorf("migration %04d_%s: %w", step.version, step.name, err)
		}
		_, err = tx.Exec(ctx, `INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)`,
			step.version, step.name, step.checksum)
		if err != nil {
			return 0, fmt.Errorf("migration %04d_%s: %w", step.version, step.name, err)
		}
		applied++
	}
	return applied, nil
}

// CheckSchema refuses a database whose schema is older than this binary.
func (s *Store) CheckSchema(ctx context.Context) error {
	steps, err := embeddedMigrations()
	if err != nil {
		return err
	}
	exists, err := read(ctx, s, pgx.RowTo[bool], `SELECT to_regclass('schema_migrations') IS NOT NULL`)
	if err != nil {
		return fmt.Errorf("cannot read schema version: %w", err)
	}
	if !exists[0] {
		return fmt.Errorf("the database has no schema: run warmup migrate")
	}
	version, err := read(ctx, s, pgx.RowTo[int], `SELECT coalesce(max(version), 0) FROM schema_migrations`)
	if err != nil {
		return fmt.Errorf("cannot read schema version: %w", err)
	}
	if version[0] < len(steps) {
		return fmt.Errorf("the schema has version %d, this binary needs %d: run warmup migrate", version[0], len(steps))
	}
	return nil
}
