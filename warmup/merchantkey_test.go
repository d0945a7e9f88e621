package main

import (
	"strings"
	"testing"

	"sluice/shared/auth"
)

func TestMerchantKey_IsMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shown := strings.TrimSuffix(b.run("merchant-key", "create", "-merchant", "acme", "-scopes", "coupons:lock, quotes"), "\n")
	key, err := auth.ParseMerchantKey(shown)
	b.must(err)
	live, err := b.postgres.LiveMerchantKeys(t.Context())
	b.must(err)
	if len(live) != 1 || !key.Is(live[0]) || live[0].Merchant != "acme" || len(live[0].Scopes) != 2 {
		t.Fatalf("%s is kept as %+v", shown, live)
	}
	list := b.run("merchant-key", "list")
	if !strings.Contains(list, key.ID+"  acme") || strings.Contains(list, shown[20:]) {
		t.Errorf("the list is\n%s", list)
	}
	other := strings.TrimSpace(b.run("merchant-key", "-merchant", "acme", "-scopes", "quotes", "create"))
	for _, c := range [][2]string{{key.ID, "is refused"}, {key.ID, "was revoked before"}, {other, "is refused"}} {
		if out := b.run("merchant-key", "revoke", c[0]); !strings.Contains(out, c[1]) || strings.Contains(out, other[20:]) {
			t.Errorf("revoke %.20s says %s", c[0], out)
		}
	}
	if live, err = b.postgres.LiveMerchantKeys(t.Context()); err != nil || len(live) != 0 {
		t.Errorf("still good: %+v, %v", live, err)
	}
	b.refuse("there is no merchant key", "merchant-key", "revoke", strings.Repeat("0", 16))
	b.refuse("no scope", "merchant-key", "create", "-merchant", "acme", "-scopes", "quotes,everything")
	b.refuse("no scope", "merchant-key", "create", "-merchant", "acme")
	b.refuse("named twice", "merchant-key", "create", "-merchant", "acme", "-scopes", "quotes,quotes")
	b.refuse("-merchant", "merchant-key", "create", "-merchant", "Acme Ltd", "-scopes", "quotes")
	b.refuse("say merchant-key", "merchant-key")
	b.refuse("say merchant-key", "merchant-key", "revoke")
	b.refuse("say merchant-key", "merchant-key", "destroy", "all")
}
