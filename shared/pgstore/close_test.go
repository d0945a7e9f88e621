package pgstore

import (
	"context"
	"testing"
	"time"

	"sluice/shared/devstack"
	"sluice/shared/faultproxy"
)

// Of a Postgres that answers nothing, connections whose calls were given up are taken leave
// of for long. Who closes the store is asked to end, and has no time for that.
func TestClose_DoesNotWaitForAPostgresThatAnswersNothing(t *testing.T) {
	t.Parallel()
	proxy, through, err := faultproxy.StartFor(devstack.PostgresForTest(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	s := openStore(t, through)
	exec(t, s, `SELECT 1`)
	proxy.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.pool.Exec(ctx, `SELECT 1`); err == nil {
		t.Fatal("a frozen Postgres answered")
	}
	began := time.Now()
	s.Close()
	if took := time.Since(began); took > 3*closeWithin {
		t.Errorf("closed after %v", took)
	}
}
