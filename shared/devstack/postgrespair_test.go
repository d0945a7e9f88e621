package devstack

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func startedPair(ctx context.Context, t *testing.T) *PostgresPair {
	t.Helper()
	pair, err := StartPostgresPair(ctx, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pair.Close(); err != nil {
			t.Error(err)
		}
		for _, s := range []*Server{pair.Primary(), pair.Standby()} {
			if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left behind: %v", s.Dir(), err)
			}
		}
	})
	return pair
}

// must fails the test at the first error.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func wantNotes(ctx context.Context, t *testing.T, pair *PostgresPair, want int) {
	t.Helper()
	if n, err := notes()["postgres"].read(ctx, pair.URL()); err != nil || n != want {
		t.Fatalf("it holds %d, %v; want %d", n, err, want)
	}
}

func TestPostgresPair_FailsOverWithEveryCommitAndBack(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	pair := startedPair(ctx, t)
	note := notes()["postgres"].write
	for round := range 2 {
		must(t, note(ctx, pair.URL(), 1))
		old := pair.Primary()
		must(t, old.Kill(), pair.Failover(ctx))
		if pair.Primary() == old || pair.Standby() != old {
			t.Fatal("the old primary is the primary")
		}
		wantNotes(ctx, t, pair, 2*round+1)
		must(t, note(ctx, pair.URL(), 1), pair.Rejoin(ctx))
		wantNotes(ctx, t, pair, 2*round+2)
	}
}

func TestPostgresPair_CommitsWaitForTheStandby(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	pair := startedPair(ctx, t)
	note := notes()["postgres"].write
	must(t, note(ctx, pair.URL(), 1), pair.Standby().Freeze())
	hasty, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := note(hasty, pair.URL(), 1); err == nil {
		t.Error("it commits without its standby")
	}
	must(t, pair.Standby().Thaw(), note(ctx, pair.URL(), 1))
}

func TestPostgresPair_FailoverAfterACutLosesTheTail(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	pair := startedPair(ctx, t)
	note := notes()["postgres"].write
	must(t, note(ctx, pair.URL(), 1), pair.CutStandby(ctx), note(ctx, pair.URL(), 1))
	wantNotes(ctx, t, pair, 2)
	must(t, pair.Failover(ctx))
	wantNotes(ctx, t, pair, 1)
	must(t, note(ctx, pair.URL(), 1), pair.Rejoin(ctx), note(ctx, pair.URL(), 1))
	wantNotes(ctx, t, pair, 3)
}

func TestPostgresPair_SupervisorReplacesAFrozenPrimary(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	pair := startedPair(ctx, t)
	must(t, notes()["postgres"].write(ctx, pair.URL(), 1))
	conn, err := pgx.Connect(ctx, pair.URL())
	must(t, err)
	defer conn.Close(ctx)
	replaced, ended := make(chan time.Duration, 1), make(chan struct{})
	supervised, stop := context.WithCancel(ctx)
	go func() {
		defer close(ended)
		pair.Supervise(supervised, time.Second, slog.New(slog.DiscardHandler), func(took time.Duration) { replaced <- took })
	}()
	old := pair.Primary()
	must(t, old.Freeze())
	select {
	case took := <-replaced:
		t.Logf("replaced %v after its last answer", took)
	case <-ctx.Done():
		t.Fatal("nobody replaced the frozen primary")
	}
	if _, err := conn.Exec(ctx, "SELECT 1"); err == nil {
		t.Error("the old primary still answers")
	}
	wantNotes(ctx, t, pair, 1)
	eventually(t, "the old primary is a standby", func() bool {
		rows, err := queryPostgres(ctx, pair.Primary().port.Addr(), "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
		return err == nil && len(rows) == 1
	})
	stop()
	<-ended
	if pair.Primary() == old {
		t.Error("the old primary is the primary")
	}
}

func TestPostgresPair_SupervisorStartsADeadStandbyAgain(t *testing.T) {
	t.Parallel()
	ctx := needsServers(t)
	pair := startedPair(ctx, t)
	note := notes()["postgres"].write
	must(t, note(ctx, pair.URL(), 1))
	supervised, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		pair.Supervise(supervised, time.Minute, slog.New(slog.DiscardHandler), nil)
	}()
	primary := pair.Primary()
	must(t, pair.Standby().Kill(), note(ctx, pair.URL(), 1)) // which waits for it
	wantNotes(ctx, t, pair, 2)
	must(t, pair.Failover(ctx)) // nobody has the old one rejoin yet
	eventually(t, "the old primary is a standby", func() bool {
		rows, err := queryPostgres(ctx, pair.Primary().port.Addr(), "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'")
		return err == nil && len(rows) == 1
	})
	stop()
	<-ended
	must(t, note(ctx, pair.URL(), 1))
	wantNotes(ctx, t, pair, 3)
	if pair.Primary() == primary {
		t.Error("the old primary is the primary")
	}
}
