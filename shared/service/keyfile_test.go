package service

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// shopKey is a key of the shop's, one for each name.
func shopKey(kid string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, kid)
	return ed25519.NewKeyFromSeed(seed)
}

// jwks is a JWK set of the named keys.
func jwks(kids ...string) string {
	keys := make([]string, len(kids))
	for i, kid := range kids {
		public := shopKey(kid).Public().(ed25519.PublicKey)
		keys[i] = fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q}`, kid, base64.RawURLEncoding.EncodeToString(public))
	}
	return `{"keys":[` + strings.Join(keys, ",") + `]}`
}

func tokenOf(t testing.TB, kid string, now time.Time) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": "shop", "aud": "sluice", "sub": "ann", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	token.Header["kid"] = kid
	signed, err := token.SignedString(shopKey(kid))
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// followed is a verifier that follows a file.
type followed struct {
	*Tokens
	t    testing.TB
	path string
	log  *bytes.Buffer
	mu   sync.Mutex
}

func (f *followed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.log.Write(p)
}

func follow(t testing.TB, content string) *followed {
	t.Helper()
	f := &followed{t: t, path: filepath.Join(t.TempDir(), "keys.json"), log: &bytes.Buffer{}}
	f.write(content)
	flags := TokenFlags{JWKSFile: f.path, Issuer: "shop", Audience: "sluice", Cache: 100}
	var err error
	if f.Tokens, err = flags.Open(slog.New(slog.NewTextHandler(f, nil))); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *followed) write(content string) {
	f.t.Helper()
	if err := os.WriteFile(f.path, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// expect fails unless tokens of exactly these keys, of a, b and c, are believed.
func (f *followed) expect(when, kids string) {
	f.t.Helper()
	for _, kid := range []string{"a", "b", "c"} {
		now := time.Now()
		_, err := f.Verify(tokenOf(f.t, kid, now), now)
		if believed := err == nil; believed != strings.Contains(kids, kid) {
			f.t.Errorf("%s: key %s is believed: %v", when, kid, believed)
		}
	}
}

func TestKeyFile_FollowsWhatTheFileBecomes(t *testing.T) {
	t.Parallel()
	f := follow(t, jwks("a"))
	for _, step := range []struct {
		name   string
		change func()
		want   string
		broken float64
	}{
		{"unchanged", func() {}, "a", 0},
		{"a key more", func() { f.write(jwks("a", "b")) }, "ab", 0},
		{"truncated", func() { f.write(jwks("b", "c")[:60]) }, "ab", 1},
		{"still truncated", func() {}, "ab", 1},
		{"written to its end", func() { f.write(jwks("b", "c")) }, "bc", 0},
		{"empty", func() { f.write("") }, "bc", 1},
		{"no keys", func() { f.write(`{"keys":[]}`) }, "bc", 1},
		{"removed", func() { f.remove() }, "bc", 1},
		{"a directory", func() { f.must(os.Mkdir(f.path, 0o700)) }, "bc", 1},
		{"removed again", func() { f.remove() }, "bc", 1},
		{"back as it was", func() { f.write(jwks("b", "c")) }, "bc", 0},
		{"replaced at once", func() {
			f.must(os.WriteFile(f.path+".new", []byte(jwks("c")), 0o600))
			f.must(os.Rename(f.path+".new", f.path))
		}, "c", 0},
		{"another key of the same size, at the same time", func() {
			info, err := os.Stat(f.path)
			f.must(err)
			f.write(jwks("a"))
			f.must(os.Chtimes(f.path, info.ModTime(), info.ModTime()))
		}, "a", 0},
		{"too large", func() { f.write(jwks("b") + strings.Repeat(" ", 64<<10)) }, "a", 1},
	} {
		step.change()
		f.file.look()
		f.expect(step.name, step.want)
		if got := testutil.ToFloat64(f.file.broken); got != step.broken {
			t.Errorf("%s: sluice_jwks_broken is %v", step.name, got)
		}
	}
	if got := testutil.ToFloat64(f.file.reloads.WithLabelValues(reloadTaken)); got != 5 {
		t.Errorf("%v changes were taken, want 5", got)
	}
	if got, lines := testutil.ToFloat64(f.file.reloads.WithLabelValues(reloadRefused)), strings.Count(f.log.String(), "level=ERROR"); got != 7 || lines != 7 {
		t.Errorf("%v changes were refused with %d errors logged, want 7:\n%s", got, lines, f.log)
	}
}

func (f *followed) remove() { f.must(os.Remove(f.path)) }

func (f *followed) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestTokens_LookAtTheFileEverySecondUntilStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, jwks("a"))
		stop := f.Start(prometheus.NewRegistry())
		f.write(jwks("b"))
		time.Sleep(keyFilePeriod + time.Millisecond)
		synctest.Wait()
		f.expect("a second later", "b")
		stop()
		f.write(jwks("c"))
		time.Sleep(5 * keyFilePeriod)
		f.expect("after it was stopped", "b")
	})
}

// A shop adds its new key, signs with it once every process has it, and takes the old
// one out when its last token has expired.
func TestTokens_NobodyIsRefusedWhileTheShopChangesKeys(t *testing.T) {
	t.Parallel()
	f := follow(t, jwks("a"))
	var shown [4]atomic.Int64 // by each buyer
	var failed atomic.Int64
	var signing atomic.Pointer[string]
	token := tokenOf(t, "a", time.Now())
	signing.Store(&token)
	done := make(chan struct{})
	var buyers sync.WaitGroup
	for i := range shown {
		buyers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := f.Verify(*signing.Load(), time.Now()); err != nil {
					failed.Add(1)
				}
				shown[i].Add(1)
			}
		})
	}
	everybody := func() { // shows the token that is signed now: what a buyer took before is shown by then
		for i := range shown {
			for n := shown[i].Load(); shown[i].Load() < n+2; {
				time.Sleep(time.Millisecond)
			}
		}
	}
	keys := []string{"a", "b", "c"}
	for i := range 9 {
		old, next := keys[i%3], keys[(i+1)%3]
		f.write(jwks(old, next))
		f.file.look()
		fresh := tokenOf(t, next, time.Now())
		signing.Store(&fresh)
		everybody()
		f.write(jwks(next))
		f.file.look()
		everybody()
	}
	close(done)
	buyers.Wait()
	if failed.Load() != 0 {
		t.Errorf("%d were refused", failed.Load())
	}
	f.expect("in the end", "a") // nine changes are three rounds
}

func TestTokenFlags_NameWhatIsMissingOrWrong(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := os.WriteFile(file, []byte(jwks("a")), 0o600); err != nil {
		t.Fatal(err)
	}
	secret, other := "-jwt-hs256="+strings.Repeat("k", 32), "-jwt-hs256-old="+strings.Repeat("o", 32)
	both := []string{"-jwt-issuer=shop", "-jwt-audience=sluice"}
	for _, c := range []struct {
		args []string
		want string // in the error; "" for none
	}{
		{[]string{secret}, ""},
		{[]string{secret, other}, ""},
		{[]string{"-jwks-file=" + file}, ""},
		{[]string{secret, other, "-jwks-file=" + file, "-jwt-leeway=5m"}, ""},
		{nil, "-jwks-file (SLUICE_JWKS_FILE)"},
		{[]string{other}, "-jwt-hs256 (SLUICE_JWT_HS256)"},
		{[]string{other, "-jwks-file=" + file}, "-jwt-hs256 (SLUICE_JWT_HS256)"},
		{[]string{"-jwt-hs256=short"}, "-jwt-hs256 (SLUICE_JWT_HS256)"},
		{[]string{secret, "-jwt-hs256-old=short"}, "-jwt-hs256-old (SLUICE_JWT_HS256_OLD)"},
		{[]string{secret, "-jwt-leeway=5m1s"}, "-jwt-leeway (SLUICE_JWT_LEEWAY)"},
		{[]string{secret, "-token-cache=-1"}, "-token-cache (SLUICE_TOKEN_CACHE)"},
		{[]string{"-jwks-file=" + file + ".not"}, "-jwks-file (SLUICE_JWKS_FILE)"},
		{[]string{secret, "-jwks-file=/dev/null"}, "-jwks-file (SLUICE_JWKS_FILE)"},
	} {
		var flags TokenFlags
		fs := flag.NewFlagSet("test", flag.ContinueOnError)
		flags.Register(fs)
		err := Parse(fs, append(c.args, both...), func(string) string { return "" })
		if err == nil {
			err = flags.Check()
		}
		if err == nil {
			_, err = flags.Open(slog.New(slog.DiscardHandler))
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v: error %v, want %q", c.args, err, c.want)
		}
	}
}
