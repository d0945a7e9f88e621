package main

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"hash"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

type members map[string]any

// with is m with other values; nil takes a member out.
func (m members) with(changes members) members {
	all := members{}
	for _, from := range []members{m, changes} {
		for name, value := range from {
			all[name] = value
			if value == nil {
				delete(all, name)
			}
		}
	}
	return all
}

func (m members) encoded(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(m)
	must(t, err)
	return base64.RawURLEncoding.EncodeToString(text)
}

// signed is a token as an attacker makes one: nothing of it is checked.
func signed(t *testing.T, header, claims members, with func() hash.Hash, key string) string {
	t.Helper()
	mac := hmac.New(with, []byte(key))
	text := header.encoded(t) + "." + claims.encoded(t)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func claimsOf(user string) members {
	now := time.Now()
	return members{"iss": "shop", "aud": "sluice", "sub": user, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
}

// asAda are the attacks with these tokens: to read ada's ticket, and to attempt.
func (a *target) asAda(tokens map[string]string, status int, problem string) (attacks []attack) {
	for name, one := range tokens {
		path := "/v1/tickets/" + a.ticket
		attacks = append(attacks,
			attack{name, "GET", path, "GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + one + "\r\n\r\n", status, problem},
			attack{name + " attempts", "POST", a.orders(), "POST " + a.orders() + " HTTP/1.1\r\nHost: x\r\nIdempotency-Key: attack\r\nAuthorization: Bearer " + one + "\r\n\r\n", status, problem})
	}
	return attacks
}

// expectOneTicketOfAda fails when any attack attempted in her name.
func (a *target) expectOneTicketOfAda() {
	a.t.Helper()
	got := a.do(http.MethodGet, "/v1/sales/"+a.sale.ID+"/tickets/me", "ada")
	if list, _ := got.body["tickets"].([]any); len(list) != 1 {
		a.t.Errorf("ada has %s", got.raw)
	}
}

func TestAttacks_TokensThatAreNotTheShopsAreRefused(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	t.Cleanup(a.expectOneTicketOfAda)
	hs, ada, now := members{"alg": "HS256", "typ": "JWT"}, claimsOf("ada"), time.Now()
	good := signed(t, hs, ada, sha256.New, jwtKey)
	if got := a.do(http.MethodGet, "/v1/tickets/"+a.ticket, "", header("Authorization", "Bearer "+good)); got.status != http.StatusOK {
		t.Fatalf("a good token: %s", got.raw)
	}
	bad := map[string]string{
		"empty": "", "no token": "x", "two parts": good[:strings.LastIndexByte(good, '.')], "four parts": good + ".x", "padded": good + "=", "with a comma": good + ", Bearer " + good,
		"of another key":        signed(t, hs, ada, sha256.New, "another secret of at least 32 bytes!"),
		"of an empty key":       signed(t, hs, ada, sha256.New, ""),
		"HS384":                 signed(t, members{"alg": "HS384"}, ada, sha512.New384, jwtKey),
		"HS512":                 signed(t, members{"alg": "HS512"}, ada, sha512.New, jwtKey),
		"RS256 by name":         signed(t, members{"alg": "RS256"}, ada, sha256.New, jwtKey),
		"no algorithm":          signed(t, members{"typ": "JWT"}, ada, sha256.New, jwtKey),
		"key in the header":     signed(t, hs.with(members{"jwk": members{"kty": "oct", "k": "YQ"}}), ada, sha256.New, "a"),
		"key elsewhere":         signed(t, hs.with(members{"jku": "http://127.0.0.1:1/", "kid": "../../dev/null"}), ada, sha256.New, ""),
		"critical extension":    signed(t, hs.with(members{"crit": []string{"exp"}}), ada, sha256.New, jwtKey),
		"expired":               signed(t, hs, ada.with(members{"iat": now.Add(-2 * time.Hour).Unix(), "exp": now.Add(-time.Minute).Unix()}), sha256.New, jwtKey),
		"without an expiry":     signed(t, hs, ada.with(members{"exp": nil}), sha256.New, jwtKey),
		"expiry as text":        signed(t, hs, ada.with(members{"exp": "9999999999"}), sha256.New, jwtKey),
		"expiry never":          signed(t, hs, ada.with(members{"exp": json.Number("1e300")}), sha256.New, jwtKey),
		"not yet":               signed(t, hs, ada.with(members{"nbf": now.Add(30 * time.Minute).Unix()}), sha256.New, jwtKey),
		"from the future":       signed(t, hs, ada.with(members{"iat": now.Add(30 * time.Minute).Unix()}), sha256.New, jwtKey),
		"for longer than a day": signed(t, hs, ada.with(members{"exp": now.Add(25 * time.Hour).Unix()}), sha256.New, jwtKey),
		"of another issuer":     signed(t, hs, ada.with(members{"iss": "shop2"}), sha256.New, jwtKey),
		"for another service":   signed(t, hs, ada.with(members{"aud": "bank"}), sha256.New, jwtKey),
		"of nobody":             signed(t, hs, ada.with(members{"sub": nil}), sha256.New, jwtKey),
		"of a list":             signed(t, hs, ada.with(members{"sub": []string{"ada"}}), sha256.New, jwtKey),
		"of a control":          signed(t, hs, ada.with(members{"sub": "ada\n"}), sha256.New, jwtKey),
		"claims of no type":     signed(t, hs, ada.with(members{"paid_orders": "many"}), sha256.New, jwtKey),
		"oversize":              signed(t, hs, ada.with(members{"x": strings.Repeat("x", 4000)}), sha256.New, jwtKey),
	}
	for _, alg := range []string{"none", "None", "nOnE", "NONE", ""} {
		unsigned := members{"alg": alg}.encoded(t) + "." + ada.encoded(t) + "."
		bad["none as "+alg], bad["none with a signature as "+alg] = unsigned, unsigned+"AAAA"
	}
	for i := range len(good) { // each bit that counts is flipped once
		if i%7 == 0 && good[i] != '.' {
			bad[fmt.Sprint("flipped at ", i)] = good[:i] + flipped(good[i]) + good[i+1:]
		}
	}
	a.repel(t, a.asAda(bad, 401, "unauthenticated"))
	a.repel(t, a.asAda(map[string]string{"as large as all headers": strings.Repeat("x", 9000)}, 413, "too-large"))
	a.repel(t, a.spoofs(good))
}

// flipped is another character of base64url.
func flipped(c byte) string {
	if c == 'A' {
		return "Q"
	}
	return "A"
}

// spoofs name ada in every way but a token of hers.
func (a *target) spoofs(good string) []attack {
	path := "/v1/tickets/" + a.ticket
	head := "GET " + path + " HTTP/1.1\r\nHost: x\r\n"
	eve := "Authorization: Bearer " + token(a.t, "eve", sale.Claims{}) + "\r\n"
	var all []attack
	for _, name := range []string{"X-User", "X-User-Id", "X-Forwarded-User", "X-Auth-Request-User", "Remote-User", "Sub", "From"} {
		all = append(all,
			attack{name + " without a token", "GET", path, head + name + ": ada\r\n\r\n", 401, "unauthenticated"},
			attack{name + " with a token", "GET", path, head + name + ": ada\r\n" + eve + "\r\n", 404, "no-such-ticket"})
	}
	for name, fields := range map[string]string{
		"basic": "Authorization: Basic YWRhOmFkYQ==\r\n", "scheme alone": "Authorization: Bearer\r\n", "token alone": "Authorization: " + good + "\r\n",
		"two tokens": eve + "Authorization: Bearer " + good + "\r\n", "two equal tokens": strings.Repeat("Authorization: Bearer "+good+"\r\n", 2),
		"two, of other cases": "authorization: Bearer " + good + "\r\nAUTHORIZATION: Bearer " + good + "\r\n", "cookie": "Cookie: token=" + good + "; Authorization=" + good + "\r\n",
		"behind a proxy": "Proxy-Authorization: Bearer " + good + "\r\n",
	} {
		all = append(all, attack{name, "GET", path, head + fields + "\r\n", 401, "unauthenticated"})
	}
	for name, fields := range map[string]string{"two keys": "Idempotency-Key: a\r\nidempotency-key: b\r\n", "two equal keys": strings.Repeat("Idempotency-Key: a\r\n", 2)} {
		all = append(all, attack{name, "POST", a.orders(), "POST " + a.orders() + " HTTP/1.1\r\nHost: x\r\n" + eve + fields + "\r\n", 400, "invalid-request"})
	}
	return all
}

// A public key is no secret: whoever has it must not be able to sign with it.
func TestAttacks_PublicKeysSignNothing(t *testing.T) {
	t.Parallel()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	jwk := members{"kty": "RSA", "kid": "shop-1", "alg": "RS256", "use": "sig", "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(private.E)).Bytes()),
		"n": base64.RawURLEncoding.EncodeToString(private.N.Bytes())}
	set, err := json.Marshal(members{"keys": []members{jwk}})
	must(t, err)
	file := filepath.Join(t.TempDir(), "jwks.json")
	must(t, os.WriteFile(file, set, 0o600))
	a := newTarget(t, "-jwks-file", file)
	t.Cleanup(a.expectOneTicketOfAda)
	rs, ada := members{"alg": "RS256", "kid": "shop-1"}, claimsOf("ada")
	if got := a.do(http.MethodGet, "/v1/tickets/"+a.ticket, "", header("Authorization", "Bearer "+signedRSA(t, rs, ada, private))); got.status != http.StatusOK {
		t.Fatalf("a token of the private key: %s", got.raw)
	}
	pkix, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	must(t, err)
	one, err := json.Marshal(jwk)
	must(t, err)
	bad := map[string]string{
		"RS256 by another key":       signedRSA(t, rs, ada, other),
		"another key id":             signedRSA(t, members{"alg": "RS256", "kid": "shop-2"}, ada, other),
		"PS256 by the name of RS256": signed(t, rs, ada, sha256.New, string(pkix)),
		"ES256 by name":              signedRSA(t, members{"alg": "ES256", "kid": "shop-1"}, ada, private),
		"EdDSA by name":              signedRSA(t, members{"alg": "EdDSA", "kid": "shop-1"}, ada, private),
		"HS256 by name":              signedRSA(t, members{"alg": "HS256", "kid": "shop-1"}, ada, private),
		"none by name":               members{"alg": "none", "kid": "shop-1"}.encoded(t) + "." + ada.encoded(t) + ".",
	}
	for name, key := range map[string][]byte{
		"PKIX": pkix, "PKIX in PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix}), "PKCS1": x509.MarshalPKCS1PublicKey(&private.PublicKey),
		"PKCS1 in PEM": pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&private.PublicKey)}),
		"modulus":      private.N.Bytes(), "JWK": one, "JWK set": set, "modulus as text": []byte(jwk["n"].(string)),
	} {
		for _, kid := range []any{nil, "shop-1"} {
			bad[fmt.Sprintf("HS256 with the %s, kid %v", name, kid)] = signed(t, members{"alg": "HS256"}.with(members{"kid": kid}), ada, sha256.New, string(key))
		}
	}
	a.repel(t, a.asAda(bad, 401, "unauthenticated"))
}

func signedRSA(t *testing.T, header, claims members, key *rsa.PrivateKey) string {
	t.Helper()
	text := header.encoded(t) + "." + claims.encoded(t)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	must(t, err)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// Every ticket that is not ada's own is the same 404 for her, and hers is one for others.
func TestAttacks_TicketsThatAreNotTheBuyersAreTheSame404(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	signer, err := auth.NewTicketSigner([]byte("another secret of at least 32 bytes!"))
	must(t, err)
	_, mine, err := a.stores.stock.TicketsOf(t.Context(), a.sale.ID, a.sale.Epoch, "ada")
	must(t, err)
	rid := mine[0].RID
	own := a.ticket
	bobs := a.attempt(a.sale.ID, "bob").text("ticket")
	forged := map[string]string{
		"bob's": bobs, "of another key": signer.Sign(a.sale.ID, "ada", 1, rid), "of another sale": signer.Sign("other", "ada", 1, rid), "ada's claim, bob's seal": own[:strings.IndexByte(own, '.')] + bobs[strings.IndexByte(bobs, '.'):],
		"bob's claim, ada's seal": bobs[:strings.IndexByte(bobs, '.')] + own[strings.IndexByte(own, '.'):], "twice": own + own, "padded": own + "=", "with a dot": own + ".", "in capitals": strings.ToUpper(own),
		"a rid": rid, "long": strings.Repeat("A", 5000) + "." + strings.Repeat("A", 22), "no seal": own[:strings.IndexByte(own, '.')+1], "a star": "*", "me": "me", "text": "null",
	}
	for i := range len(own) {
		forged[fmt.Sprint("cut at ", i)] = own[:i]
		if own[i] != '.' {
			forged[fmt.Sprint("flipped at ", i)] = own[:i] + flipped(own[i]) + own[i+1:]
		}
	}
	delete(forged, "cut at 0") // is another path
	want := a.do(http.MethodGet, "/v1/tickets/"+own, "bob")
	a.expect(want, http.StatusNotFound, "no-such-ticket")
	for name, ticket := range forged {
		if ticket == own {
			continue
		}
		for _, path := range []string{"/v1/tickets/" + ticket, "/v1/tickets/" + ticket + "?wait=25", "/v1/tickets/" + ticket + "/events"} {
			if got := a.do(http.MethodGet, path, "ada"); got.status != want.status || got.raw != want.raw {
				t.Errorf("%s: %d %s, foreign is %s", name, got.status, got.raw, want.raw)
			}
		}
	}
	a.servesTheHonest(t)
}
