package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/auth"
	"sluice/shared/sale"
	"sluice/shared/service"
)

const tokenKey = "0123456789abcdef0123456789abcdef"

func TestToken_GatewaysVerifyIt(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, vars: map[string]string{"SLUICE_JWT_HS256": tokenKey, "SLUICE_JWT_ISSUER": "shop", "SLUICE_JWT_AUDIENCE": "sluice"}}
	out := b.run("token", "-user", "ann", "-ttl", "2h", "-account-created-at", "1700000000", "-paid-orders", "3", "-tags", "vip,beta")
	verifier, err := auth.NewVerifier(auth.VerifierConfig{HS256Keys: [][]byte{[]byte(tokenKey)}, Issuer: "shop", Audience: "sluice"})
	b.must(err)
	token := strings.TrimSuffix(out, "\n")
	got, err := verifier.Verify(token, time.Now().Add(119*time.Minute))
	b.must(err)
	want := auth.Identity{UserID: "ann", Claims: sale.Claims{
		AccountCreatedAt: time.Unix(1700000000, 0).UTC(), PaidOrders: 3, Tags: []string{"vip", "beta"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("identity differs (-want +got):\n%s", diff)
	}
	if _, err := verifier.Verify(token, time.Now().Add(121*time.Minute)); err == nil {
		t.Error("the token outlives its ttl")
	}
}

func TestToken_NamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	all := []string{"-user=ann", "-jwt-hs256=" + tokenKey, "-jwt-issuer=shop", "-jwt-audience=sluice"}
	for i, flag := range all {
		args := append([]string{"token"}, all[:i]...)
		_, err := (&bench{t: t}).try(append(args, all[i+1:]...)...)
		name, _, _ := strings.Cut(flag, "=")
		if !errors.Is(err, service.ErrUsage) || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: error %v", name, err)
		}
	}
	for _, bad := range []string{"-ttl=0s", "-paid-orders=-1", "-account-created-at=-1", "-user=a\x01b", "-jwt-hs256=short"} {
		args := append([]string{"token"}, all...)
		if _, err := (&bench{t: t}).try(append(args, bad)...); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
