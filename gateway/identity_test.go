package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

// shopKey is a key pair of the shop.
type shopKey struct {
	jwk string
	key auth.SigningKey
}

func newShopKey(t *testing.T, kid string) shopKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	must(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	key, err := auth.ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), kid)
	must(t, err)
	return shopKey{fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q}`, kid, base64.RawURLEncoding.EncodeToString(public)), key}
}

// shows sends a token of the user's, signed with the key.
func (k shopKey) shows(t *testing.T, user string) func(*http.Request) {
	t.Helper()
	token, err := k.key.Token("shop", "sluice", user, sale.Claims{}, time.Now(), time.Hour)
	must(t, err)
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

// writeKeys replaces a JWKS file at once.
func writeKeys(t *testing.T, path string, keys ...shopKey) {
	t.Helper()
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.jwk
	}
	must(t, os.WriteFile(path+".new", []byte(`{"keys":[`+strings.Join(all, ",")+`]}`), 0o600))
	must(t, os.Rename(path+".new", path))
}

func TestAttempt_KeysOfTheFileComeAndGoWhileTheGatewayServes(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 20)
	old, next := newShopKey(t, "old"), newShopKey(t, "next")
	file := filepath.Join(t.TempDir(), "keys.json")
	writeKeys(t, file, old)
	g := s.startReady(t, "-jwt-hs256", "", "-jwks-file", file)
	g.untilWarm(e.ID)
	ticket := g.attempt(e.ID, "", old.shows(t, "ada"))
	g.expectStatus(ticket, http.StatusAccepted)
	g.expect(g.attempt(e.ID, "", next.shows(t, "bob")), http.StatusUnauthorized, "unauthenticated")
	g.expect(g.attempt(e.ID, "ada"), http.StatusUnauthorized, "unauthenticated") // signed with a secret that this gateway has not

	writeKeys(t, file, old, next)
	g.until("the next key is believed", func() bool { return g.attempt(e.ID, "", next.shows(t, "bob")).status != http.StatusUnauthorized })
	path := "/v1/tickets/" + ticket.text("ticket")
	g.expectStatus(g.do(http.MethodGet, path, "", old.shows(t, "ada")), http.StatusOK)
	g.expectStatus(g.do(http.MethodGet, path, "", next.shows(t, "ada")), http.StatusOK)

	must(t, os.WriteFile(file, []byte(`{"keys":[`), 0o600))
	g.until("it tells of the broken file", func() bool {
		_, metrics := g.opsGet("/metrics")
		return strings.Contains(metrics, "\nsluice_jwks_broken 1\n") && strings.Contains(metrics, "\nsluice_jwks_keys 2\n")
	})
	g.expectStatus(g.do(http.MethodGet, path, "", old.shows(t, "ada")), http.StatusOK)

	shown := old.shows(t, "ada")
	g.expectStatus(g.do(http.MethodGet, path, "", shown), http.StatusOK)
	writeKeys(t, file, next)
	g.until("the old key is gone", func() bool { return g.do(http.MethodGet, path, "", shown).status == http.StatusUnauthorized })
	g.expectStatus(g.do(http.MethodGet, path, "", next.shows(t, "ada")), http.StatusOK)
}

func TestAttempt_OldSecretIsBelievedBesideTheNewOne(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t, "-jwt-hs256", strings.Repeat("n", 32), "-jwt-hs256-old", jwtKey)
	g.untilWarm(e.ID)
	g.expectStatus(g.attempt(e.ID, "ada"), http.StatusAccepted)
	fresh, err := auth.Mint([]byte(strings.Repeat("n", 32)), "shop", "sluice", "bob", sale.Claims{}, time.Now(), time.Hour)
	must(t, err)
	g.expectStatus(g.attempt(e.ID, "", header("Authorization", "Bearer "+fresh)), http.StatusAccepted)
}

func TestAttempt_TakesOneTokenOfOrdinaryLength(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	bearer := "Bearer " + token(t, "ada", sale.Claims{})
	for name, change := range map[string][]func(*http.Request){
		"two, both valid":       {header("Authorization", bearer), header("Authorization", bearer)},
		"two, the first valid":  {header("Authorization", bearer), header("Authorization", "Bearer x")},
		"two, the second valid": {header("Authorization", ""), header("Authorization", bearer)},
		"two in one header":     {header("Authorization", bearer+", "+bearer)},
		"another scheme":        {header("Authorization", "Basic "+bearer[len("Bearer "):])},
		"5 KiB":                 {claims(t, "ada", sale.Claims{Tags: []string{strings.Repeat("t", 3800)}})},
	} {
		got := g.attempt(e.ID, "", change...)
		g.expect(got, http.StatusUnauthorized, "unauthenticated")
		if got.header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: %v", name, got.header)
		}
	}
	s.expectUntouched(t, e)
}

func TestUserHeader_IsBelievedOnlyFromTrustedProxies(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 20)
	gated := s.sell(t, 5, func(s *sale.Sale) { s.Eligibility.MinPaidOrders = 1 })
	g := s.startReady(t, "-user-header", "X-Shop-User", "-trusted-proxies", "127.0.0.1")
	g.untilWarm(e.ID)
	g.untilWarm(gated.ID)
	eve := header("X-Shop-User", "eve")
	ticket := g.attempt(e.ID, "", eve)
	g.expectStatus(ticket, http.StatusAccepted)
	path, mine := "/v1/tickets/"+ticket.text("ticket"), "/v1/sales/"+e.ID+"/tickets/me"
	g.expectStatus(g.do(http.MethodGet, path, "", eve), http.StatusOK)
	g.expectStatus(g.do(http.MethodGet, path, "eve"), http.StatusOK) // a token of the same user
	g.expectStatus(g.do(http.MethodGet, path, "ada", eve), http.StatusOK)
	g.expect(g.do(http.MethodGet, path, "eve", header("x-shop-user", "ada")), http.StatusNotFound, "no-such-ticket")
	g.expect(g.attempt(gated.ID, "", eve), http.StatusForbidden, "not-eligible")
	g.expect(g.attempt(gated.ID, "", eve, claims(t, "eve", sale.Claims{PaidOrders: 5})), http.StatusForbidden, "not-eligible") // the proxy's word has no claims
	g.expect(g.attempt(e.ID, "", header("X-Shop_User", "eve")), http.StatusUnauthorized, "unauthenticated")
	for name, change := range map[string][]func(*http.Request){
		"two": {eve, eve}, "empty": {header("X-Shop-User", "")}, "too long": {header("X-Shop-User", strings.Repeat("u", 129))}, "not UTF-8": {header("X-Shop-User", "\xff")},
	} {
		for where, got := range map[string]answer{
			"attempt": g.attempt(e.ID, "ada", change...), "ticket": g.do(http.MethodGet, path, "eve", change...), "tickets": g.do(http.MethodGet, mine, "eve", change...),
		} {
			g.expect(got, http.StatusBadRequest, "invalid-request")
			if got.text("field") != "X-Shop-User" {
				t.Errorf("%s, %s: %s", name, where, got.raw)
			}
		}
	}

	for name, flags := range map[string][]string{
		"another proxy is trusted": {"-user-header", "X-Shop-User", "-trusted-proxies", "10.0.0.0/8,::1"}, "no header is in use": {"-trusted-proxies", "127.0.0.1"},
	} {
		far := s.startReady(t, flags...)
		far.untilWarm(e.ID)
		for _, from := range []string{"10.0.0.1", "127.0.0.1, 10.0.0.1"} { // what a client writes does not make it a proxy
			forwarded := header("X-Forwarded-For", from)
			far.expect(far.attempt(e.ID, "", eve, forwarded), http.StatusUnauthorized, "unauthenticated")
			far.expect(far.do(http.MethodGet, path, "", eve, forwarded), http.StatusUnauthorized, "unauthenticated")
			far.expect(far.do(http.MethodGet, mine, "", eve, forwarded), http.StatusUnauthorized, "unauthenticated")
		}
		if got := far.do(http.MethodGet, path, "ada", eve); got.status != http.StatusNotFound {
			t.Errorf("%s: the token is not what counts: %d", name, got.status)
		}
	}
}
