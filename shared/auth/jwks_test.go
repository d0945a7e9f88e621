package auth_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	_ "embed" // a key of the shop
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"sluice/shared/auth"
)

// signer is a private key of the shop.
type signer struct {
	kid    string
	method jwt.SigningMethod
	key    crypto.Signer
}

//go:embed testdata/rsa-2048.pem
var rsaPEM []byte

// signers have one key of each kind, always the same ones: fuzzing runs in processes of
// its own, and what it finds is kept.
var signers = sync.OnceValue(func() map[string]signer {
	rsaKey, errRSA := jwt.ParseRSAPrivateKeyFromPEM(rsaPEM)
	ecKey, errEC := ecdsa.ParseRawPrivateKey(elliptic.P256(), bytes.Repeat([]byte{7}, 32))
	if err := errors.Join(errRSA, errEC); err != nil {
		panic(err)
	}
	return map[string]signer{
		"RS256": {"rsa-1", jwt.SigningMethodRS256, rsaKey},
		"ES256": {"ec-1", jwt.SigningMethodES256, ecKey},
		"EdDSA": {"ed-1", jwt.SigningMethodEdDSA, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, 32))},
	}
})

// token signs claims as the shop would, with changes of the header.
func (s signer) token(t testing.TB, claims jwt.Claims, header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(s.method, claims)
	token.Header["kid"] = s.kid
	for name, value := range header {
		token.Header[name] = value
		if value == nil {
			delete(token.Header, name)
		}
	}
	signed, err := token.SignedString(s.key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// jwk writes a key as a JWK, with changes of its members.
func jwk(t testing.TB, key any, change map[string]any) map[string]any {
	t.Helper()
	text, err := jose.JSONWebKey{Key: key}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for name, value := range change {
		members[name] = value
		if value == nil {
			delete(members, name)
		}
	}
	return members
}

func setOf(t testing.TB, keys ...map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// public is the signer's public key as a JWK with its kid.
func (s signer) public(t testing.TB) map[string]any {
	return jwk(t, s.key.Public(), map[string]any{"kid": s.kid, "use": "sig", "alg": s.method.Alg()})
}

// shopKeys is a set of all kinds of keys.
func shopKeys(t testing.TB) []auth.PublicKey {
	t.Helper()
	keys, err := auth.ParseJWKS(setOf(t, signers()["RS256"].public(t), signers()["ES256"].public(t), signers()["EdDSA"].public(t)))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestParseJWKS_Takes(t *testing.T) {
	t.Parallel()
	ec, ed := signers()["ES256"].key.Public(), signers()["EdDSA"].key.Public()
	for name, set := range map[string][]byte{
		"all kinds":                  setOf(t, signers()["RS256"].public(t), signers()["ES256"].public(t), signers()["EdDSA"].public(t)),
		"without names, one a kind":  setOf(t, jwk(t, ec, nil), jwk(t, ed, nil)),
		"key_ops and more":           setOf(t, jwk(t, ec, map[string]any{"key_ops": []string{"verify"}, "x-note": "of the shop"})),
		"two of a kind with names":   setOf(t, jwk(t, ec, map[string]any{"kid": "a"}), jwk(t, newEC(t), map[string]any{"kid": "b"})),
		"other members of the set":   []byte(`{"issued":1,` + string(setOf(t, jwk(t, ec, nil)))[1:]),
		"the same key, another name": setOf(t, jwk(t, ec, map[string]any{"kid": "a"}), jwk(t, ec, map[string]any{"kid": "b"})),
	} {
		if _, err := auth.ParseJWKS(set); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func newEC(t testing.TB) crypto.PublicKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key.Public()
}

func TestParseJWKS_RefusesTheWholeSetAndSaysWhy(t *testing.T) {
	t.Parallel()
	ec, rsaKey := signers()["ES256"].key, signers()["RS256"].key.(*rsa.PrivateKey)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := signers()["EdDSA"].public(t)
	many := make([]map[string]any, 33)
	for i := range many {
		many[i] = jwk(t, ec.Public(), map[string]any{"kid": fmt.Sprint("k", i)})
	}
	even := new(big.Int).Lsh(big.NewInt(1), 2047)
	number := func(n *big.Int) string { return base64.RawURLEncoding.EncodeToString(n.Bytes()) }
	for want, set := range map[string][]byte{
		"not a JWK set: ":                        []byte("keys"),
		"not a JWK set":                          setOf(t, good)[:50],
		"not a JWK set:":                         append(setOf(t, good), '{'),
		"1 to 32 keys, has 0":                    []byte(`{"keys":[]}`),
		"1 to 32 keys, has 0 ":                   []byte(`{}`),
		"1 to 32 keys, has 0  ":                  []byte(`{"Keys":[{}]}`),
		"1 to 32 keys, has 33":                   setOf(t, many...),
		"at most 65536 bytes":                    append(setOf(t, good), strings.Repeat(" ", 64<<10)...),
		"twice":                                  []byte(`{"keys":[],"keys":[{}]}`),
		"symmetric":                              setOf(t, good, jwk(t, []byte(strings.Repeat("k", 32)), nil)),
		"a private key: only":                    setOf(t, good, jwk(t, ec, nil)),
		"a private key: ":                        setOf(t, good, jwk(t, rsaKey, nil)),
		"a private key":                          setOf(t, good, jwk(t, rsaKey, map[string]any{"p": nil, "q": nil})),
		`its use is "enc"`:                       setOf(t, jwk(t, ec.Public(), map[string]any{"use": "enc"})),
		"lack verify":                            setOf(t, jwk(t, ec.Public(), map[string]any{"key_ops": []string{"encrypt"}})),
		`its alg is "RS512"`:                     setOf(t, jwk(t, rsaKey.Public(), map[string]any{"alg": "RS512"})),
		`its alg is "PS256"`:                     setOf(t, jwk(t, rsaKey.Public(), map[string]any{"alg": "PS256"})),
		`its alg is "HS256"`:                     setOf(t, jwk(t, rsaKey.Public(), map[string]any{"alg": "HS256"})),
		`its alg is "none"`:                      setOf(t, jwk(t, ec.Public(), map[string]any{"alg": "none"})),
		`its alg is "RS256"`:                     setOf(t, jwk(t, ec.Public(), map[string]any{"alg": "RS256"})),
		"2048 to 8192 bits, has 1024":            setOf(t, jwk(t, small.Public(), nil)),
		"must be of P-256, is of P-384":          setOf(t, jwk(t, p384.Public(), nil)),
		"not those of an RSA key":                setOf(t, jwk(t, rsaKey.Public(), map[string]any{"n": number(even)})),
		"key 1":                                  setOf(t, jwk(t, ec.Public(), map[string]any{"kty": "RSA"})),
		"key 1 ":                                 setOf(t, jwk(t, ec.Public(), map[string]any{"y": jwk(t, newEC(t), nil)["y"]})),
		"key 1 (":                                setOf(t, jwk(t, ec.Public(), map[string]any{"kty": nil})),
		`key 1 (kid "")`:                         setOf(t, jwk(t, ec.Public(), map[string]any{"kid": 7})),
		`key 2 (kid "ed-1"): another key has`:    setOf(t, good, jwk(t, ec.Public(), map[string]any{"kid": "ed-1"})),
		"several keys for ES256 need a kid each": setOf(t, jwk(t, ec.Public(), map[string]any{"kid": "a"}), jwk(t, newEC(t), nil)),
	} {
		keys, err := auth.ParseJWKS(set)
		if err == nil || keys != nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) && want != "twice" {
			t.Errorf("%q: %d keys, error %v", want, len(keys), err)
		}
		if err != nil && strings.Contains(err.Error(), number(rsaKey.D)) {
			t.Errorf("%q: the error shows a private key", want)
		}
	}
}

func FuzzJWKS(f *testing.F) {
	for _, seed := range [][]byte{
		setOf(f, signers()["RS256"].public(f), signers()["ES256"].public(f), signers()["EdDSA"].public(f)),
		setOf(f, jwk(f, signers()["ES256"].key, nil)), setOf(f, jwk(f, []byte("secret"), nil)),
		[]byte(`{"keys":[]}`), []byte(`{"keys":null}`), []byte(`{"keys":[{}]}`), []byte(`[]`), []byte(``), []byte(`{"keys":[{"kty":"RSA","n":"AQ","e":"AQAB"}]}`),
		[]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"","y":""}]}`), []byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"}]}`),
		[]byte(`{"keys":[{"kty":"RSA","n":"AQ","e":"AQAB","x5c":["AA=="]}]}`),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, err := auth.ParseJWKS(data)
		if err != nil {
			return
		}
		v, err := auth.NewVerifier(auth.VerifierConfig{PublicKeys: keys, Issuer: "shop", Audience: "sluice"})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range signers() { // no key that was read may end the process, or believe others' signatures
			token := s.token(t, goodClaims(), map[string]any{"kid": nil})
			token = token[:len(token)-8] + "AAAAAAAA"
			if _, err := v.Verify(token, now); err == nil {
				t.Error("a spoilt signature is believed")
			}
		}
	})
}
