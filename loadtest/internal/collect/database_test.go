package collect

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/shared/devstack"
)

func TestMain(m *testing.M) { os.Exit(devstack.Main(m)) }

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(t.Context(), devstack.PostgresForTest(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Second)
		defer cancel()
		_ = db.Close(ctx) // the server goes with the test
	})
	return db
}

func TestWritten_WaitsForStatisticsThatComeLate(t *testing.T) {
	t.Parallel()
	stores, writer := &Stores{database: connect(t)}, connect(t)
	before, err := stores.Writes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const rows = 3000
	for range 3 { // the first commit's share is told at once, the others' later
		if _, err := writer.Exec(t.Context(), `CREATE TABLE IF NOT EXISTS written_rows (n int)`); err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Exec(t.Context(), `INSERT INTO written_rows SELECT generate_series(1, 1000)`); err != nil {
			t.Fatal(err)
		}
	}
	if written, err := stores.Written(t.Context(), before, rows, testPatience); err != nil || written < rows {
		t.Errorf("%d rows written, want %d: %v", written, rows, err)
	}
}

func TestWritten_GivesUpOnWhatDoesNotCome(t *testing.T) {
	t.Parallel()
	stores := &Stores{database: connect(t)}
	before, err := stores.Writes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if written, err := stores.Written(t.Context(), before, 1_000_000, 10*time.Millisecond); err != nil || written >= 1_000_000 {
		t.Errorf("%d rows written: %v", written, err)
	}
}
