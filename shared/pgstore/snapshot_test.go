package pgstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/shared/faultproxy"
)

// Where commits are scarce, they are for what is written: reading takes none away.
func TestReading_TakesNoCommit(t *testing.T) {
	t.Parallel()
	url := schemaURL(t)
	writer := openStore(t, url)
	if _, err := writer.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded(t, writer, "phone", 3)
	proxy, through, err := faultproxy.StartFor(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	s := openStore(t, through)
	proxy.DelayCommits(time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), statementTimeout)
	defer cancel()
	_, holdings := s.Holdings(ctx, "phone", time.Minute)
	_, state := s.LoadState(ctx, "phone")
	_, audit := s.AuditSale(ctx, "phone")
	_, coupons := s.AuditCoupons(ctx, "phone")
	if err := errors.Join(holdings, state, audit, coupons); err != nil {
		t.Error(err)
	}
}
