package pgstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/sale"
)

func merchantKey(digit, merchant string) sale.MerchantKey {
	k := sale.MerchantKey{ID: strings.Repeat(digit, 16), Merchant: merchant, Scopes: []sale.Scope{sale.ScopeCouponsLock, sale.ScopeQuotes}}
	copy(k.Hash[:], strings.Repeat(digit, 32))
	return k
}

func TestMerchantKeys_AreGoodUntilRevoked(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	by := sale.Actor{Who: "warmup"}
	first, second := merchantKey("a", "acme"), merchantKey("b", "bolt")
	for _, k := range []sale.MerchantKey{first, second} {
		if err := s.CreateMerchantKey(t.Context(), by, k); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CreateMerchantKey(t.Context(), by, first); err == nil {
		t.Error("an id is given twice")
	}
	for i, want := range []bool{true, false} {
		if revoked, err := s.RevokeMerchantKey(t.Context(), by, first.ID); err != nil || revoked != want {
			t.Errorf("revoked for time %d: %v, %v", i+1, revoked, err)
		}
	}
	if _, err := s.RevokeMerchantKey(t.Context(), by, strings.Repeat("c", 16)); !errors.Is(err, ErrNoMerchantKey) {
		t.Errorf("a key that there is not is revoked: %v", err)
	}

	live, err := s.LiveMerchantKeys(t.Context())
	if err != nil || len(live) != 1 || live[0].CreatedAt.IsZero() {
		t.Fatalf("live are %+v, %v", live, err)
	}
	second.CreatedAt = live[0].CreatedAt
	if diff := cmp.Diff(second, live[0]); diff != "" {
		t.Errorf("the live key differs (-want +got):\n%s", diff)
	}
	all, err := s.MerchantKeys(t.Context())
	if err != nil || len(all) != 2 || all[0].ID != second.ID || all[1].RevokedAt.IsZero() {
		t.Errorf("all are %+v, %v", all, err)
	}
	log, err := s.AuditLog(t.Context(), "", sale.Page{Limit: 10})
	if err != nil || len(log) != 3 || log[0].Action != sale.ActionMerchantKeyRevoke || log[0].Subject != first.ID || log[2].By.Who != "warmup" {
		t.Errorf("audit log: %+v, %v", log, err)
	}
	for _, change := range log {
		if strings.Contains(string(change.After), "hash") {
			t.Errorf("the audit log has a hash: %s", change.After)
		}
	}
}

func TestMerchantKeys_AreBoundedInNumber(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	exec(t, s, `
		INSERT INTO merchant_keys (key_id, hash, merchant, scopes)
		SELECT lpad(to_hex(n), 16, '0'), sha256(n::text::bytea), 'acme', '{quotes}' FROM generate_series(1, $1) n`, mostMerchantKeys)
	if err := s.CreateMerchantKey(t.Context(), sale.Actor{Who: "warmup"}, merchantKey("a", "acme")); !errors.Is(err, ErrTooManyMerchantKeys) {
		t.Errorf("one more: %v", err)
	}
	if _, err := s.RevokeMerchantKey(t.Context(), sale.Actor{Who: "warmup"}, "0000000000000001"); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateMerchantKey(t.Context(), sale.Actor{Who: "warmup"}, merchantKey("a", "acme")); err != nil {
		t.Errorf("in the place of a revoked one: %v", err)
	}
}
