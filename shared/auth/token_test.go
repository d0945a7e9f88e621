package auth_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"sluice/shared/auth"
	"sluice/shared/sale"
)

var (
	tokenKey = []byte(strings.Repeat("k", 32))
	oldKey   = []byte(strings.Repeat("o", 40))
	now      = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
)

func newVerifier(t testing.TB) *auth.Verifier {
	t.Helper()
	v, err := auth.NewVerifier(auth.VerifierConfig{
		HS256Keys: [][]byte{tokenKey, oldKey}, Issuer: "shop", Audience: "sluice", Leeway: 10 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func goodClaims() jwt.MapClaims {
	return jwt.MapClaims{"iss": "shop", "aud": "sluice", "sub": "ann", "exp": now.Add(time.Hour).Unix()}
}

// with is goodClaims with one claim changed, or removed when value is nil.
func with(name string, value any) jwt.MapClaims {
	claims := goodClaims()
	claims[name] = value
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

// lasting is goodClaims that end d after they begin, which claim says; now is half way.
func lasting(d time.Duration, claim string) jwt.MapClaims {
	return merged(goodClaims(), jwt.MapClaims{claim: now.Add(-d / 2).Unix(), "exp": now.Add(d - d/2).Unix()})
}

// merged is a with what more has.
func merged(a, more jwt.MapClaims) jwt.MapClaims {
	maps.Copy(a, more)
	return a
}

func sign(t testing.TB, method jwt.SigningMethod, key any, claims jwt.Claims) string {
	t.Helper()
	token, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestVerify_AcceptsWhatMintIssues(t *testing.T) {
	t.Parallel()
	full := sale.Claims{AccountCreatedAt: time.Unix(1700000000, 0).UTC(), PaidOrders: 3, Tags: []string{"vip", "beta"}}
	for name, claims := range map[string]sale.Claims{"bare": {}, "full": full} {
		token, err := auth.Mint(oldKey, "shop", "sluice", "王 ann", claims, now, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		got, err := newVerifier(t).Verify(token, now)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(auth.Identity{UserID: "王 ann", Claims: claims}, got); diff != "" {
			t.Errorf("%s: identity differs (-want +got):\n%s", name, diff)
		}
	}
}

func TestVerify_AcceptsOneAudienceOfSeveral(t *testing.T) {
	t.Parallel()
	token := sign(t, jwt.SigningMethodHS256, tokenKey, with("aud", []string{"mail", "sluice"}))
	if _, err := newVerifier(t).Verify(token, now); err != nil {
		t.Error(err)
	}
}

func TestVerify_RefusesClaims(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]jwt.MapClaims{
		"expired":                 with("exp", now.Add(-11*time.Second).Unix()),
		"expired at its second":   with("exp", now.Add(-10*time.Second).Unix()),
		"no exp":                  with("exp", nil),
		"exp 0":                   with("exp", 0),
		"exp as text":             with("exp", "2030"),
		"not yet valid":           with("nbf", now.Add(time.Minute).Unix()),
		"exp too far":             with("exp", 1e300),
		"exp beyond a float":      with("exp", json.Number("1e999")),
		"exp negative":            with("exp", -1),
		"exp null":                with("exp", json.RawMessage("null")),
		"nbf as text":             with("nbf", "2020"),
		"nbf 0":                   with("nbf", 0),
		"iat 0":                   with("iat", 0),
		"iat as text":             with("iat", "2020"),
		"iat null":                with("iat", json.RawMessage("null")),
		"iat list":                with("iat", []int64{now.Unix()}),
		"issued in the future":    with("iat", now.Add(11*time.Second).Unix()),
		"too long from iat":       lasting(24*time.Hour+11*time.Second, "iat"),
		"too long from nbf":       lasting(24*time.Hour+11*time.Second, "nbf"),
		"too long from now":       with("exp", now.Add(24*time.Hour+11*time.Second).Unix()),
		"too long, nbf late":      merged(lasting(25*time.Hour, "iat"), jwt.MapClaims{"nbf": now.Unix()}),
		"no iss":                  with("iss", nil),
		"wrong iss":               with("iss", "Shop"),
		"no aud":                  with("aud", nil),
		"wrong aud":               with("aud", []string{"mail"}),
		"no sub":                  with("sub", nil),
		"empty sub":               with("sub", ""),
		"sub is a number":         with("sub", 7),
		"sub has a newline":       with("sub", "ann\n"),
		"sub too long":            with("sub", strings.Repeat("u", 129)),
		"account_created_at text": with("account_created_at", "1700000000"),
		"account_created_at neg":  with("account_created_at", -1),
		"account_created_at far":  with("account_created_at", int64(1)<<60),
		"paid_orders fraction":    with("paid_orders", 1.5),
		"paid_orders negative":    with("paid_orders", -1),
		"paid_orders list":        with("paid_orders", []int{1}),
		"tags text":               with("tags", "vip"),
		"tags of numbers":         with("tags", []int{1}),
		"SUB instead of sub":      {"iss": "shop", "aud": "sluice", "SUB": "ann", "exp": now.Add(time.Hour).Unix()},
	} {
		expectRefused(t, name, sign(t, jwt.SigningMethodHS256, tokenKey, claims))
	}
}

func TestVerify_AcceptsWhatIsInTime(t *testing.T) {
	t.Parallel()
	for name, claims := range map[string]jwt.MapClaims{
		"no iat":                      goodClaims(),
		"within the leeway after exp": with("exp", now.Add(-9*time.Second).Unix()),
		"issued within the leeway":    with("iat", now.Add(10*time.Second).Unix()),
		"valid within the leeway":     with("nbf", now.Add(10*time.Second).Unix()),
		"a day from iat":              lasting(24*time.Hour, "iat"),
		"a day from nbf":              lasting(24*time.Hour, "nbf"),
		"a day from now":              with("exp", now.Add(24*time.Hour).Unix()),
		"fractions of seconds":        with("exp", float64(now.Add(time.Hour).Unix())+0.5),
	} {
		if _, err := newVerifier(t).Verify(sign(t, jwt.SigningMethodHS256, tokenKey, claims), now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerify_RefusesLongTokens(t *testing.T) {
	t.Parallel()
	token := func(padding int) string {
		return sign(t, jwt.SigningMethodHS256, tokenKey, with("note", strings.Repeat("n", padding)))
	}
	padding := 2900
	for len(token(padding+1)) <= 4096 {
		padding++
	}
	if _, err := newVerifier(t).Verify(token(padding), now); err != nil {
		t.Errorf("%d bytes: %v", len(token(padding)), err)
	}
	expectRefused(t, "one character more", token(padding+1))
}

func TestVerify_RefusesOtherSignatures(t *testing.T) {
	t.Parallel()
	good := sign(t, jwt.SigningMethodHS256, tokenKey, goodClaims())
	parts := strings.Split(good, ".")
	header := func(json string) string { return base64.RawURLEncoding.EncodeToString([]byte(json)) }
	critical := jwt.NewWithClaims(jwt.SigningMethodHS256, goodClaims())
	critical.Header["crit"] = []string{"b64"}
	signedCritical, err := critical.SignedString(tokenKey)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"alg None":             header(`{"alg":"None"}`) + "." + parts[1] + ".",
		"alg NONE":             header(`{"alg":"NONE"}`) + "." + parts[1] + ".",
		"alg nOnE, old MAC":    header(`{"alg":"nOnE"}`) + "." + parts[1] + "." + parts[2],
		"alg empty":            header(`{"alg":""}`) + "." + parts[1] + ".",
		"alg null":             header(`{"alg":null}`) + "." + parts[1] + ".",
		"alg twice":            header(`{"alg":"HS256","alg":"none"}`) + "." + parts[1] + ".",
		"alg as a list":        header(`{"alg":["HS256"]}`) + "." + parts[1] + "." + parts[2],
		"alg none":             sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, goodClaims()),
		"alg none, old MAC":    header(`{"alg":"none"}`) + "." + parts[1] + "." + parts[2],
		"alg HS512":            sign(t, jwt.SigningMethodHS512, tokenKey, goodClaims()),
		"alg RS256 named":      header(`{"alg":"RS256"}`) + "." + parts[1] + "." + parts[2],
		"alg in lower case":    header(`{"alg":"hs256"}`) + "." + parts[1] + "." + parts[2],
		"alg missing":          header(`{}`) + "." + parts[1] + "." + parts[2],
		"unknown key":          sign(t, jwt.SigningMethodHS256, []byte(strings.Repeat("x", 32)), goodClaims()),
		"no signature":         parts[0] + "." + parts[1] + ".",
		"two parts":            parts[0] + "." + parts[1],
		"four parts":           good + "." + parts[2],
		"empty":                "",
		"not base64":           "§." + parts[1] + "." + parts[2],
		"another payload":      parts[0] + "." + header(`{"sub":"bob"}`) + "." + parts[2],
		"null payload":         parts[0] + "." + header(`null`) + "." + parts[2],
		"critical extension":   signedCritical,
		"padded":               good + "=",
		"signature, stray bit": parts[0] + "." + parts[1] + "." + nonCanonical(parts[2]),
	} {
		expectRefused(t, name, token)
	}
}

func expectRefused(t *testing.T, name, token string) {
	t.Helper()
	id, err := newVerifier(t).Verify(token, now)
	if !errors.Is(err, auth.ErrToken) || id.UserID != "" {
		t.Errorf("%s: verified as %+v, error %v, want ErrToken", name, id, err)
	}
}

func TestNewVerifier_RefusesToLeaveACheckOut(t *testing.T) {
	t.Parallel()
	good := auth.VerifierConfig{HS256Keys: [][]byte{tokenKey}, Issuer: "shop", Audience: "sluice"}
	for name, change := range map[string]func(*auth.VerifierConfig){
		"no keys":         func(c *auth.VerifierConfig) { c.HS256Keys = nil },
		"three keys":      func(c *auth.VerifierConfig) { c.HS256Keys = [][]byte{tokenKey, oldKey, tokenKey} },
		"short key":       func(c *auth.VerifierConfig) { c.HS256Keys = [][]byte{tokenKey, oldKey[:31]} },
		"no issuer":       func(c *auth.VerifierConfig) { c.Issuer = "" },
		"no audience":     func(c *auth.VerifierConfig) { c.Audience = "" },
		"negative leeway": func(c *auth.VerifierConfig) { c.Leeway = -1 },
		"long leeway":     func(c *auth.VerifierConfig) { c.Leeway = auth.MaxLeeway + 1 },
		"hours of leeway": func(c *auth.VerifierConfig) { c.Leeway = time.Hour },
	} {
		c := good
		change(&c)
		if _, err := auth.NewVerifier(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestMint_RefusesBadKeysAndUsers(t *testing.T) {
	t.Parallel()
	if _, err := auth.Mint(tokenKey[:31], "shop", "sluice", "ann", sale.Claims{}, now, time.Hour); err == nil {
		t.Error("a short key is accepted")
	}
	if _, err := auth.Mint(tokenKey, "shop", "sluice", "", sale.Claims{}, now, time.Hour); err == nil {
		t.Error("an empty user id is accepted")
	}
}

func TestMint_RefusesWhatNobodyTakes(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]bool{auth.MaxLifetime: true, auth.MaxLifetime + 1: false} {
		token, err := auth.Mint(tokenKey, "shop", "sluice", "ann", sale.Claims{}, now, ttl)
		if (err == nil) != want {
			t.Errorf("for %v: %v", ttl, err)
		}
		if _, err := newVerifier(t).Verify(token, now); want && err != nil {
			t.Errorf("for %v: minted and refused: %v", ttl, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	good := sign(f, jwt.SigningMethodHS256, tokenKey, goodClaims())
	for _, seed := range []string{
		good, good[1:], good + "\n", "", "..", "a.b.c", sign(f, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, goodClaims()),
		sign(f, jwt.SigningMethodHS256, tokenKey, with("exp", 1e300)), sign(f, jwt.SigningMethodHS256, tokenKey, lasting(25*time.Hour, "iat")),
	} {
		f.Add(seed)
	}
	for _, s := range signers() {
		f.Add(s.token(f, goodClaims(), nil))
		f.Add(s.token(f, goodClaims(), map[string]any{"kid": 1}))
		f.Add(s.token(f, with("iat", now.Unix()), map[string]any{"kid": nil, "crit": []string{"x"}}))
	}
	v := withPublicKeys(f, tokenKey)
	f.Fuzz(func(t *testing.T, token string) {
		id, err := v.Verify(token, now)
		if err != nil {
			if !errors.Is(err, auth.ErrToken) || id.UserID != "" {
				t.Errorf("Verify(%q) = %+v, %v", token, id, err)
			}
			return
		}
		if err := sale.ValidateUserID(id.UserID); err != nil {
			t.Errorf("Verify(%q) lets a bad user id through: %v", token, err)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	v := newVerifier(b)
	token := sign(b, jwt.SigningMethodHS256, tokenKey, goodClaims())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(token, now); err != nil {
			b.Fatal(err)
		}
	}
}
