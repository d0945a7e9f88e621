package auth_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

// withPublicKeys believes the shop's keys of all kinds, and a secret unless that is nil.
func withPublicKeys(t testing.TB, secret []byte) *auth.Verifier {
	t.Helper()
	c := auth.VerifierConfig{PublicKeys: shopKeys(t), Issuer: "shop", Audience: "sluice", Leeway: 10 * time.Second}
	if secret != nil {
		c.HS256Keys = [][]byte{secret}
	}
	v, err := auth.NewVerifier(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestVerify_TakesEveryAlgorithm(t *testing.T) {
	t.Parallel()
	v := withPublicKeys(t, tokenKey)
	for alg, s := range signers() {
		for name, header := range map[string]map[string]any{
			"with its kid": nil, "without kid": {"kid": nil}, "with an empty kid": {"kid": ""}, "typ is nothing": {"typ": "at+jwt"},
		} {
			if id, err := v.Verify(s.token(t, goodClaims(), header), now); err != nil || id.UserID != "ann" {
				t.Errorf("%s %s: %+v, %v", alg, name, id, err)
			}
		}
	}
	for _, kid := range []string{"", "rsa-1", "whatever"} { // secrets have no names
		token := jwt.NewWithClaims(jwt.SigningMethodHS256, goodClaims())
		token.Header["kid"] = kid
		signed, err := token.SignedString(tokenKey)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Verify(signed, now); err != nil {
			t.Errorf("HS256 with kid %q: %v", kid, err)
		}
	}
}

// forms are all the bytes that a public key could be mistaken for a secret in.
func forms(t *testing.T, key crypto.PublicKey) map[string][]byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(jwk(t, key, nil))
	if err != nil {
		t.Fatal(err)
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	all := map[string][]byte{
		"DER": der, "PEM": block, "PEM without its last newline": block[:len(block)-1], "JWK": text,
		"base64 of DER": []byte(base64.StdEncoding.EncodeToString(der)), "empty": {},
	}
	if k, ok := key.(*rsa.PublicKey); ok {
		all["PKCS #1 DER"] = x509.MarshalPKCS1PublicKey(k)
		all["PKCS #1 PEM"] = pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(k)})
		all["modulus"] = k.N.Bytes()
	}
	return all
}

func TestVerify_APublicKeyIsNoSecret(t *testing.T) {
	t.Parallel()
	for alg, s := range signers() {
		for form, secret := range forms(t, s.key.Public()) {
			token := jwt.NewWithClaims(jwt.SigningMethodHS256, goodClaims())
			token.Header["kid"] = s.kid
			forged, err := token.SignedString(secret)
			if err != nil {
				t.Fatal(err)
			}
			for with, v := range map[string]*auth.Verifier{"a secret too": withPublicKeys(t, tokenKey), "public keys only": withPublicKeys(t, nil)} {
				refused(t, v, "HS256 with the "+form+" of the "+alg+" key, "+with, forged)
			}
		}
	}
}

func refused(t *testing.T, v *auth.Verifier, name, token string) {
	t.Helper()
	if id, err := v.Verify(token, now); err == nil || id.UserID != "" {
		t.Errorf("%s: verified as %+v", name, id)
	}
}

func TestVerify_RefusesTokensOfPublicKeys(t *testing.T) {
	t.Parallel()
	v := withPublicKeys(t, tokenKey)
	all := signers()
	rs, es, ed := all["RS256"], all["ES256"], all["EdDSA"]
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pss := signer{"rsa-1", jwt.SigningMethodPS256, rs.key}
	good := strings.Split(es.token(t, goodClaims(), nil), ".")
	header := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	digest := sha256.Sum256([]byte(good[0] + "." + good[1]))
	der, err := es.key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"kid of another algorithm's key":    rs.token(t, goodClaims(), map[string]any{"kid": "ec-1"}),
		"kid of another algorithm's, EdDSA": ed.token(t, goodClaims(), map[string]any{"kid": "rsa-1"}),
		"unknown kid":                       rs.token(t, goodClaims(), map[string]any{"kid": "rsa-2"}),
		"kid in another case":               rs.token(t, goodClaims(), map[string]any{"kid": "RSA-1"}),
		"kid is a number":                   rs.token(t, goodClaims(), map[string]any{"kid": 1}),
		"kid is a list":                     rs.token(t, goodClaims(), map[string]any{"kid": []string{"rsa-1"}}),
		"kid is null":                       rs.token(t, goodClaims(), map[string]any{"kid": json.RawMessage("null")}),
		"kid is a path":                     rs.token(t, goodClaims(), map[string]any{"kid": "../../dev/null"}),
		"1024 bits":                         signer{"rsa-1", jwt.SigningMethodRS256, small}.token(t, goodClaims(), nil),
		"a stranger's key":                  signer{"rsa-1", jwt.SigningMethodRS256, stranger}.token(t, goodClaims(), nil),
		"a key brought along":               signer{"rsa-1", jwt.SigningMethodRS256, stranger}.token(t, goodClaims(), map[string]any{"jwk": jwk(t, stranger.Public(), nil)}),
		"a place to get the key from":       signer{"new", jwt.SigningMethodRS256, stranger}.token(t, goodClaims(), map[string]any{"jku": "https://shop.example/keys"}),
		"RS384":                             signer{"rsa-1", jwt.SigningMethodRS384, rs.key}.token(t, goodClaims(), nil),
		"RS512":                             signer{"rsa-1", jwt.SigningMethodRS512, rs.key}.token(t, goodClaims(), nil),
		"PS256":                             pss.token(t, goodClaims(), nil),
		"PS256 named RS256":                 header(`{"alg":"RS256","kid":"rsa-1"}`) + pss.token(t, goodClaims(), nil)[strings.Index(pss.token(t, goodClaims(), nil), "."):],
		"crit":                              es.token(t, goodClaims(), map[string]any{"crit": []string{"exp"}}),
		"crit is empty":                     es.token(t, goodClaims(), map[string]any{"crit": []string{}}),
		"alg none":                          header(`{"alg":"none","kid":"ec-1"}`) + "." + good[1] + ".",
		"alg none, old signature":           header(`{"alg":"none","kid":"ec-1"}`) + "." + good[1] + "." + good[2],
		"no signature":                      good[0] + "." + good[1] + ".",
		"r and s are zero":                  good[0] + "." + good[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		"signature in DER":                  good[0] + "." + good[1] + "." + base64.RawURLEncoding.EncodeToString(der),
		"signature of another token":        good[0] + "." + strings.Split(es.token(t, with("sub", "bob"), nil), ".")[1] + "." + good[2],
		"expired":                           ed.token(t, with("exp", now.Add(-time.Minute).Unix()), nil),
		"issued in the future":              rs.token(t, with("iat", now.Add(time.Minute).Unix()), nil),
		"not valid yet":                     es.token(t, with("nbf", now.Add(time.Minute).Unix()), nil),
		"valid for two days":                rs.token(t, lasting(48*time.Hour, "iat"), nil),
		"no exp":                            ed.token(t, with("exp", nil), nil),
		"wrong iss":                         rs.token(t, with("iss", "bank"), nil),
		"wrong aud":                         es.token(t, with("aud", []string{"a", "b"}), nil),
		"aud is empty":                      es.token(t, with("aud", []string{}), nil),
		"aud of numbers":                    es.token(t, with("aud", []any{1, "sluice"}), nil),
		"too long":                          ed.token(t, with("note", strings.Repeat("n", 4000)), nil),
	} {
		refused(t, v, name, token)
	}
}

func TestVerify_WithoutASecretTakesNoHS256(t *testing.T) {
	t.Parallel()
	refused(t, withPublicKeys(t, nil), "HS256", sign(t, jwt.SigningMethodHS256, tokenKey, goodClaims()))
}

func TestReplace_TakesOtherKeysFromThenOn(t *testing.T) {
	t.Parallel()
	es, ed := signers()["ES256"], signers()["EdDSA"]
	v := withPublicKeys(t, tokenKey)
	secret := sign(t, jwt.SigningMethodHS256, tokenKey, goodClaims())
	only, err := auth.ParseJWKS(setOf(t, ed.public(t)))
	if err != nil {
		t.Fatal(err)
	}
	v.Replace(only)
	refused(t, v, "a key that is gone", es.token(t, goodClaims(), nil))
	for name, token := range map[string]string{"the key that stayed": ed.token(t, goodClaims(), nil), "the secret": secret} {
		if _, err := v.Verify(token, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	v.Replace(shopKeys(t))
	if _, err := v.Verify(es.token(t, goodClaims(), nil), now); err != nil {
		t.Errorf("the key that is back: %v", err)
	}
}

func TestParsePrivateKey_SignsWhatIsBelieved(t *testing.T) {
	t.Parallel()
	v := withPublicKeys(t, nil)
	for alg, s := range signers() {
		der, err := x509.MarshalPKCS8PrivateKey(s.key)
		if err != nil {
			t.Fatal(err)
		}
		key, err := auth.ParsePrivateKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), s.kid)
		if err != nil {
			t.Fatalf("%s: %v", alg, err)
		}
		token, err := key.Token("shop", "sluice", "ann", sale.Claims{PaidOrders: 2}, now, time.Hour)
		if err != nil {
			t.Fatalf("%s: %v", alg, err)
		}
		if id, err := v.Verify(token, now); err != nil || id.UserID != "ann" || id.Claims.PaidOrders != 2 {
			t.Errorf("%s: %+v, %v", alg, id, err)
		}
	}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"nothing": nil, "no PEM": []byte("key"), "an empty block": []byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"),
		"1024 bits": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(small)}),
	} {
		if _, err := auth.ParsePrivateKey(text, ""); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
