package pgstore

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
)

func TestMigrate_IsIdempotent(t *testing.T) {
	t.Parallel()
	s := openStore(t, schemaURL(t))
	steps, err := embeddedMigrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{len(steps), 0} {
		if applied, err := s.Migrate(t.Context()); err != nil || applied != want {
			t.Errorf("applied = %d, error %v, want %d", applied, err, want)
		}
	}
}

func TestMigrate_ConcurrentCallersApplyEachStepOnce(t *testing.T) {
	t.Parallel()
	url := schemaURL(t)
	steps, err := embeddedMigrations()
	if err != nil {
		t.Fatal(err)
	}
	var total atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		s := openStore(t, url)
		group.Go(func() {
			applied, err := s.Migrate(t.Context())
			if err != nil {
				t.Error(err)
			}
			total.Add(int64(applied))
		})
	}
	group.Wait()
	if total.Load() != int64(len(steps)) {
		t.Errorf("applied = %d together, want %d", total.Load(), len(steps))
	}
}

func TestMigrate_DoesNotQueueForLongBehindWhoWritesOrders(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	exec(t, s, `DROP INDEX orders_unshown_oldest`)
	exec(t, s, `DELETE FROM schema_migrations WHERE version = 16`)
	writer, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.Exec(t.Context(), `LOCK TABLE orders IN ROW EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	_, err = s.Migrate(t.Context())
	if err == nil || !strings.Contains(err.Error(), "run warmup migrate again while no sale is open") {
		t.Errorf("error = %v, want what to do", err)
	}
	if err := writer.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if applied, err := s.Migrate(t.Context()); err != nil || applied != 1 {
		t.Errorf("once nobody writes: applied = %d, error %v", applied, err)
	}
}

func TestMigrate_RefusesAStepThatChanged(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	exec(t, s, `UPDATE schema_migrations SET checksum = 'other' WHERE version = 1`)

	_, err := s.Migrate(t.Context())

	if err == nil || !strings.Contains(err.Error(), "changed after it was applied") {
		t.Errorf("error = %v, want the changed migration named", err)
	}
}

func TestMigrate_LeavesANewerSchemaAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	exec(t, s, `INSERT INTO schema_migrations (version, name, checksum) VALUES (99, 'later', 'x')`)

	if applied, err := s.Migrate(t.Context()); err != nil || applied != 0 {
		t.Errorf("applied = %d, error %v, want nothing to do", applied, err)
	}
	if err := s.CheckSchema(t.Context()); err != nil {
		t.Errorf("a newer schema was refused: %v", err)
	}
}

func TestCheckSchema_RefusesWhatIsOlderThanTheBinary(t *testing.T) {
	t.Parallel()
	s := openStore(t, schemaURL(t))
	if err := s.CheckSchema(t.Context()); err == nil {
		t.Error("an empty database was taken")
	}
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckSchema(t.Context()); err != nil {
		t.Error(err)
	}
	exec(t, s, `DELETE FROM schema_migrations`)
	if err := s.CheckSchema(t.Context()); err == nil {
		t.Error("an old schema was taken")
	}
}

func TestReadMigrations_RefusesNamesThatDoNotCountUp(t *testing.T) {
	t.Parallel()
	for name, files := range map[string][]string{
		"gap":        {"0001_a.sql", "0003_b.sql"},
		"twice":      {"0001_a.sql", "0001_b.sql"},
		"no number":  {"first.sql"},
		"from zero":  {"0000_a.sql"},
		"other file": {"0001_a.sql", "notes.txt"},
	} {
		dir := fstest.MapFS{}
		for _, file := range files {
			dir[file] = &fstest.MapFile{Data: []byte("SELECT 1")}
		}
		if _, err := readMigrations(dir); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
