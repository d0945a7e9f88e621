package pgstore

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/shared/sale"
)

func TestPace_PausedOnceAndOnRecord(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, paused := range []bool{true, true, false} {
		if err := s.SetPacePaused(t.Context(), ada, paused); err != nil {
			t.Fatal(err)
		}
		if got, err := s.PacePaused(t.Context()); err != nil || got != paused {
			t.Fatalf("paused %t, %v; want %t", got, err, paused)
		}
		pause, err := s.PacePause(t.Context())
		if err != nil || pause.Paused != paused || pause.At.IsZero() == paused || paused && pause.By != ada || !paused && pause != (sale.PacePause{}) {
			t.Fatalf("%+v, %v; want paused %t by %+v", pause, err, paused, ada)
		}
	}
	changes, err := s.AuditLog(t.Context(), "", sale.Page{Limit: 9})
	if err != nil || len(changes) != 2 || changes[0].Action != sale.ActionPaceResume || changes[1].Action != sale.ActionPacePause {
		t.Errorf("audit log %+v, %v", changes, err)
	}
}

func TestOverloaded(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		&pgconn.PgError{Code: "57014"}: true, &pgconn.PgError{Code: "53300"}: true, context.DeadlineExceeded: true,
		&pgconn.PgError{Code: "57P01"}: false, &pgconn.PgError{Code: "23505"}: false, ErrStaleEpoch: false,
	} {
		if got := Overloaded(fmt.Errorf("cannot order: %w", err)); got != want {
			t.Errorf("%v: %t, want %t", err, got, want)
		}
	}
}
