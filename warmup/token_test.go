package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

func TestToken_IsSignedWithAPrivateKeyToo(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := auth.ParseJWKS(fmt.Appendf(nil, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"shop-1","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public)))
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := auth.NewVerifier(auth.VerifierConfig{PublicKeys: keys, Issuer: "shop", Audience: "sluice"})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, vars: map[string]string{"SLUICE_JWT_HS256": tokenKey, "SLUICE_JWT_ISSUER": "shop", "SLUICE_JWT_AUDIENCE": "sluice"}}
	for kid, want := range map[string]bool{"shop-1": true, "": true, "shop-2": false} {
		out := b.run("token", "-user", "ann", "-key-file", file, "-kid", kid)
		if _, err := verifier.Verify(strings.TrimSpace(out), time.Now()); (err == nil) != want {
			t.Errorf("with kid %q: %v", kid, err)
		}
	}
	b.refuse("no unencrypted private key", "token", "-user", "ann", "-key-file", os.Args[0])
	b.refuse("cannot read the private key", "token", "-user", "ann", "-key-file", file+".not")
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
