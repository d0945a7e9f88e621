package auth

import (
	"crypto/ed25519"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"sluice/shared/sale"
)

// verifiers are of secrets, of secrets and public keys with a cache, and of public keys alone.
func verifiers(t testing.TB) map[string]*Verifier {
	t.Helper()
	made := map[string]*Verifier{"secrets": plainVerifier(t)}
	public := []PublicKey{{alg: jwt.SigningMethodEdDSA.Alg(), key: publicSigner().key.(ed25519.PrivateKey).Public()}}
	for name, secrets := range map[string][][]byte{"both": {plainKey}, "public": nil} {
		v, err := NewVerifier(VerifierConfig{HS256Keys: secrets, PublicKeys: public, Issuer: "shop", Audience: "sluice", Leeway: time.Second, CacheSize: 100})
		if err != nil {
			t.Fatal(err)
		}
		made[name] = v
	}
	return made
}

func publicSigner() SigningKey {
	return SigningKey{method: jwt.SigningMethodEdDSA, key: ed25519.NewKeyFromSeed(plainKey)}
}

// signedAs signs header and claims that are encoded already.
func signedAs(signed string) string {
	return signed + "." + segmentEncoding.EncodeToString(newMACs(plainKey).of(nil, []byte(signed)))
}

// longToken has so many bytes, of which 4 are 3 of its claims.
func longToken(size int) string {
	noted := func(n int) string { return tokenOf(plainHead, claimsWith(`,"note":"`+strings.Repeat("n", n)+`"`)) }
	for n := (size-len(noted(0)))*3/4 - 2; ; n++ {
		if token := noted(n); len(token) >= size {
			return token
		}
	}
}

// wholeTokens are tokens at the edges, and whether they are good where secrets are known.
func wholeTokens() map[string]bool {
	good := tokenOf(plainHead, claimsWith(""))
	end, dot := len(good)-1, strings.IndexByte(good, '.')
	last := strings.IndexByte(alphabet, good[end])
	at := func(claims string, seconds ...any) string { return tokenOf(plainHead, fmt.Sprintf(claims, seconds...)) }
	const until = `{"iss":"shop","aud":"sluice","sub":"ann","exp":%d}`
	const since = `{"iss":"shop","aud":"sluice","sub":"ann","%s":%d,"exp":%d}`
	now, day := plainNow.Unix(), int64(MaxLifetime/time.Second)
	return map[string]bool{
		good:                             true,
		good[:end] + "\r\n" + good[end:]: true, good + "\n": true, "\n" + good: false, // of which the parser skips
		signedAs("\r\n" + good[:dot] + "\n.\n" + good[dot+1:strings.LastIndexByte(good, '.')]): true,
		good[:dot] + "\r" + good[dot:]:                         false,
		good[:end] + alphabet[last^1:][:1]:                     false, // stray bits
		good + "=":                                             false,
		signedAs(good[:dot] + "=." + good[dot+1:len(good)-44]): false,
		longToken(maxTokenBytes):                               true,
		longToken(maxTokenBytes + 1):                           false,
		at(until, now):                                         true, // with a second of leeway
		at(until, now-1):                                       false,
		at(until, now+day+1):                                   true,
		at(until, now+day+2):                                   false,
		at(until, 0):                                           false,
		at(until, maxUnix):                                     false,
		at(until, maxUnix+1):                                   false,
		at(since, "nbf", now+1, now+60):                        true,
		at(since, "nbf", now+2, now+60):                        false,
		at(since, "iat", now, now+day):                         true,
		at(since, "iat", now-1, now+day):                       true,
		at(since, "iat", now-2, now+day):                       false,
		at(since, "iat", maxUnix+1, now+60):                    false,
	}
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func TestVerify_AgreesWithTheParserAtTheEdges(t *testing.T) {
	t.Parallel()
	for name, v := range verifiers(t) {
		for token, want := range wholeTokens() {
			if _, good := agrees(t, v, token); good != (want && name != "public") {
				t.Errorf("%s: %q is good: %v", name, token, good)
			}
		}
	}
	for _, size := range []int{maxTokenBytes, maxTokenBytes + 1} {
		if n := len(longToken(size)); n != size {
			t.Errorf("the token of %d bytes has %d", size, n)
		}
	}
}

// FuzzVerify_AgreesWithTheParser is about where segments begin and end, and how they are encoded.
func FuzzVerify_AgreesWithTheParser(f *testing.F) {
	for token := range wholeTokens() {
		f.Add(token)
	}
	public, err := publicSigner().Token("shop", "sluice", "ann", sale.Claims{Tags: []string{"vip"}}, plainNow, time.Hour)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(public)
	made := verifiers(f)
	f.Fuzz(func(t *testing.T, token string) {
		for _, v := range made {
			agrees(t, v, token)
		}
	})
}

func TestVerify_TakesNobodyForAnother(t *testing.T) {
	t.Parallel()
	v := verifiers(t)["both"]
	var callers sync.WaitGroup
	for caller := range 8 {
		callers.Go(func() {
			ids := make([]Identity, 200)
			for i := range ids {
				user := fmt.Sprintf("user-%d-%s", caller, strings.Repeat("x", i%60))
				more := fmt.Sprintf(`,"tags":["%s"],"paid_orders":%d`, user, i)
				if i%3 == 0 {
					more += `,"realm":{"a":1,"a":2}` // for the parser
				}
				id, err := v.Verify(tokenOf(plainHead, strings.Replace(claimsWith(more), "ann", user, 1)), plainNow)
				if err != nil {
					t.Error(err)
				}
				ids[i] = id
			}
			for i, id := range ids { // they must not share the memory that they were read from
				user := fmt.Sprintf("user-%d-%s", caller, strings.Repeat("x", i%60))
				if id.UserID != user || len(id.Claims.Tags) != 1 || id.Claims.Tags[0] != user || id.Claims.PaidOrders != int64(i) {
					t.Errorf("%s is taken for %+v", user, id)
				}
			}
		})
	}
	callers.Wait()
}
