package auth_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"sluice/shared/auth"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// caching remembers up to size tokens of the shop's keys and secret.
func caching(t testing.TB, size int) *auth.Verifier {
	t.Helper()
	v, err := auth.NewVerifier(auth.VerifierConfig{
		HS256Keys: [][]byte{tokenKey}, PublicKeys: shopKeys(t), Issuer: "shop", Audience: "sluice", Leeway: 10 * time.Second, CacheSize: size,
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// dear is claims of a token that only the parser reads: such are remembered.
func dear(claims jwt.MapClaims) jwt.MapClaims {
	return merged(claims, jwt.MapClaims{"realm": json.RawMessage(`{"role":"a","role":"b"}`)})
}

func expectCounts(t *testing.T, v *auth.Verifier, cached, verified, refused uint64, remembered int) {
	t.Helper()
	want := auth.TokenCounts{Cached: cached, Verified: verified, Refused: refused, Remembered: remembered}
	if diff := cmp.Diff(want, v.Counts()); diff != "" {
		t.Errorf("counts differ (-want +got):\n%s", diff)
	}
}

func believes(t *testing.T, v *auth.Verifier, when, token string, at time.Time, want bool) {
	t.Helper()
	id, err := v.Verify(token, at)
	if (err == nil) != want || want != (id.UserID == "ann") {
		t.Errorf("%s: %+v, %v, want it believed: %v", when, id, err, want)
	}
}

func TestCache_AnswersAsTheTokenDoes(t *testing.T) {
	t.Parallel()
	claims := sale.Claims{AccountCreatedAt: time.Unix(1700000000, 0).UTC(), PaidOrders: 3, Tags: []string{"vip", "beta"}}
	token := sign(t, jwt.SigningMethodHS256, tokenKey, dear(merged(goodClaims(), jwt.MapClaims{
		"account_created_at": claims.AccountCreatedAt.Unix(), "paid_orders": claims.PaidOrders, "tags": claims.Tags})))
	v := caching(t, 100)
	for range 3 {
		id, err := v.Verify(token, now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(auth.Identity{UserID: "ann", Claims: claims}, id); diff != "" {
			t.Errorf("identity differs (-want +got):\n%s", diff)
		}
	}
	expectCounts(t, v, 2, 1, 0, 1)
}

func TestCache_HonoursTheTimesOfAToken(t *testing.T) {
	t.Parallel()
	v := caching(t, 100)
	token := sign(t, jwt.SigningMethodHS256, tokenKey, dear(merged(with("iat", now.Unix()), jwt.MapClaims{"nbf": now.Add(time.Minute).Unix()})))
	valid := now.Add(time.Minute)
	believes(t, v, "at first", token, valid, true)
	believes(t, v, "again", token, valid, true)
	believes(t, v, "in the last moment of the leeway", token, now.Add(time.Hour+10*time.Second-1), true)
	believes(t, v, "by a clock that went back to before nbf", token, valid.Add(-11*time.Second), false)
	believes(t, v, "by a clock that is right again", token, valid, true)
	believes(t, v, "once it has expired", token, now.Add(time.Hour+10*time.Second), false)
	expectCounts(t, v, 2, 2, 2, 0)

	short := sign(t, jwt.SigningMethodHS256, tokenKey, dear(with("exp", now.Add(24*time.Hour).Unix()))) // neither iat nor nbf
	believes(t, v, "a day before its end", short, now, true)
	believes(t, v, "more than a day before its end", short, now.Add(-11*time.Second), false)
}

func TestCache_IsVoidOnceKeysChange(t *testing.T) {
	t.Parallel()
	v := caching(t, 100)
	es, ed := signers()["ES256"], signers()["EdDSA"]
	tokens := map[string]string{"of the key that goes": es.token(t, goodClaims(), nil), "of the key that stays": ed.token(t, goodClaims(), nil)}
	for name, token := range tokens {
		believes(t, v, name, token, now, true)
		believes(t, v, name+", again", token, now, true)
	}
	only, err := auth.ParseJWKS(setOf(t, ed.public(t)))
	if err != nil {
		t.Fatal(err)
	}
	v.Replace(only)
	for name, token := range tokens {
		believes(t, v, name+", after", token, now, name == "of the key that stays")
	}
	v.Replace(shopKeys(t))
	for name, token := range tokens {
		believes(t, v, name+", when it is back", token, now, true)
	}
	expectCounts(t, v, 2, 5, 1, 2)
}

func TestCache_KeepsNoRefusalsAndNoLongTokens(t *testing.T) {
	t.Parallel()
	v := caching(t, 100)
	late := sign(t, jwt.SigningMethodHS256, tokenKey, dear(with("nbf", now.Add(time.Minute).Unix())))
	believes(t, v, "before its time", late, now, false)
	believes(t, v, "in its time", late, now.Add(time.Minute), true)
	for _, token := range []string{"", "a.b.c", late + "x", strings.ToUpper(late), late[1:]} {
		believes(t, v, "a stranger", token, now.Add(time.Minute), false)
	}
	long := sign(t, jwt.SigningMethodHS256, tokenKey, with("note", strings.Repeat("n", 2000)))
	believes(t, v, "a long one", long, now, true)
	believes(t, v, "a long one again", long, now, true)
	expectCounts(t, v, 0, 3, 6, 1)

	off := caching(t, 0)
	believes(t, off, "without a cache", late, now.Add(time.Minute), true)
	believes(t, off, "without a cache, again", late, now.Add(time.Minute), true)
	expectCounts(t, off, 0, 2, 0, 0)
}

// Not parallel: it measures the heap of the process.
func TestCache_IsBoundedForAMillionTokens(t *testing.T) {
	const perToken = 1 << 10
	size, shown := 2_000, 50_000
	if devstack.Long() {
		size, shown = 20_000, 1_000_000
	}
	v := caching(t, size)
	token := func(i int) string {
		return sign(t, jwt.SigningMethodHS256, tokenKey, dear(with("sub", fmt.Sprint("buyer-", i))))
	}
	first := token(0)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var buyers sync.WaitGroup
	for part := range 4 {
		buyers.Go(func() {
			for i := range shown / 4 {
				if _, err := v.Verify(token(part*shown/4+i), now); err != nil {
					t.Error(err)
					return
				}
				if i%100 == 0 { // who keeps coming stays known
					_, _ = v.Verify(first, now)
				}
			}
		})
	}
	buyers.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	counts := v.Counts()
	grown := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d remembered, %d bytes each", counts.Remembered, grown/int64(counts.Remembered))
	if counts.Remembered > size+64 || counts.Remembered < size/2 {
		t.Errorf("%d are remembered, want about %d", counts.Remembered, size)
	}
	if grown > int64(size*perToken) {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if counts.Cached < uint64(shown)/100*9/10 {
		t.Errorf("who kept coming was known %d times of %d", counts.Cached, shown/100)
	}
}

func TestCache_HasNoPlaceForWhatIsVerifiedAsFast(t *testing.T) {
	t.Parallel()
	v := caching(t, 100)
	token, err := auth.Mint(tokenKey, "shop", "sluice", "ann", sale.Claims{PaidOrders: 3}, now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	believes(t, v, "a plain token", token, now, true)
	believes(t, v, "a plain token, again", token, now, true)
	believes(t, v, "a plain token, once it has expired", token, now.Add(time.Hour+10*time.Second), false)
	expectCounts(t, v, 0, 2, 1, 0)
}

func TestNewVerifier_RefusesACacheOfNoSize(t *testing.T) {
	t.Parallel()
	for _, size := range []int{-1, auth.MostTokens + 1} {
		_, err := auth.NewVerifier(auth.VerifierConfig{HS256Keys: [][]byte{tokenKey}, Issuer: "shop", Audience: "sluice", CacheSize: size})
		if err == nil {
			t.Errorf("a cache of %d is accepted", size)
		}
	}
}

func BenchmarkVerify_Again(b *testing.B) {
	for alg, token := range map[string]string{
		"HS256": sign(b, jwt.SigningMethodHS256, tokenKey, goodClaims()), "HS256 not plain": sign(b, jwt.SigningMethodHS256, tokenKey, dear(goodClaims())), "RS256": signers()["RS256"].token(b, goodClaims(), nil),
		"ES256": signers()["ES256"].token(b, goodClaims(), nil), "EdDSA": signers()["EdDSA"].token(b, goodClaims(), nil),
	} {
		for name, size := range map[string]int{"cached": 100, "verified": 0} {
			b.Run(alg+"/"+name, func(b *testing.B) {
				v := caching(b, size)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := v.Verify(token, now); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
