package auth

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	plainKey = []byte(strings.Repeat("p", 32))
	plainNow = time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
)

func plainVerifier(t testing.TB) *Verifier {
	t.Helper()
	v, err := NewVerifier(VerifierConfig{HS256Keys: [][]byte{[]byte(strings.Repeat("q", 32)), plainKey}, Issuer: "shop", Audience: "sluice", Leeway: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// tokenOf signs a header and claims as they are.
func tokenOf(header, claims string) string {
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(header)) + "." + encode([]byte(claims))
	return signed + "." + encode(newMACs(plainKey).of(nil, []byte(signed)))
}

// agrees verifies a token and has the parser's word on it. It reports whether the parser
// was needed, and what it says.
func agrees(t testing.TB, v *Verifier, token string) (plain, good bool) {
	t.Helper()
	keys, w := v.keys.Load(), &workspace{}
	w.take(token)
	_, plain = v.examinePlain(w, plainNow)
	parsed, err := v.examine(token, keys, plainNow)
	good = err == nil && len(token) <= maxTokenBytes
	for _, when := range []string{"at first", "again"} { // it may be remembered then
		id, refused := v.verify(token, plainNow)
		if (refused == nil) != good {
			t.Errorf("%q %s: %v, the parser says %v", token, when, refused, err)
		}
		if diff := cmp.Diff(parsed.identity, id); good && diff != "" {
			t.Errorf("%q %s (-parser +verified):\n%s", token, when, diff)
		}
	}
	return plain && !w.forged(keys), good
}

const plainHead = `{"alg":"HS256","typ":"JWT"}`

// claimsWith are good claims of plainNow, with more behind them.
func claimsWith(more string) string {
	return fmt.Sprintf(`{"iss":"shop","aud":"sluice","sub":"ann","exp":%d%s}`, plainNow.Add(time.Hour).Unix(), more)
}

func TestExaminePlain_BelievesWhatTheParserBelieves(t *testing.T) {
	t.Parallel()
	v := plainVerifier(t)
	iat := plainNow.Unix()
	for name, token := range map[string]string{
		"as minted":         tokenOf(plainHead, claimsWith(fmt.Sprintf(`,"iat":%d,"nbf":%d`, iat, iat))),
		"with a kid":        tokenOf(`{"typ":"JWT","kid":"k1","alg":"HS256"}`, claimsWith("")),
		"several audiences": tokenOf(plainHead, strings.Replace(claimsWith(""), `"sluice"`, `["mail","sluice"]`, 1)),
		"all that counts":   tokenOf(plainHead, claimsWith(`,"account_created_at":1700000000,"paid_orders":3,"tags":["vip","王"]`)),
		"no tags, no order": tokenOf(plainHead, claimsWith(`,"paid_orders":0,"tags":[]`)),
		"others' claims":    tokenOf(plainHead, claimsWith(`,"jti":"x","scope":["a","b"],"n":[],"ok":true,"no":null,"it":-7.5e3,"realm":{"roles":[]}`)),
		"spaces":            tokenOf(" { \"alg\" : \"HS256\" }\n", strings.ReplaceAll(claimsWith(""), ",", " ,\r\n\t")),
		"escapes":           tokenOf(plainHead, claimsWith(`,"\u006ebf":1796115600,"\u0074ags":["\ud83d\ude00\n"]`)),
	} {
		if plain, good := agrees(t, v, token); !plain || !good {
			t.Errorf("%s: plain %v, good %v", name, plain, good)
		}
	}
}

func TestExaminePlain_LeavesToTheParserWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	v := plainVerifier(t)
	good, other := tokenOf(plainHead, claimsWith("")), tokenOf(plainHead, claimsWith(`,"x":1`))
	end := strings.LastIndexByte(good, '.') + 1
	for name, c := range map[string]struct {
		token string
		good  bool // says the parser
	}{
		"sub twice, once escaped":               {tokenOf(plainHead, claimsWith(`,"\u0073ub":"bob"`)), true},
		"half a character":                      {tokenOf(plainHead, claimsWith(`,"tags":["\ud83d"]`)), true},
		"an object with a name twice":           {tokenOf(plainHead, claimsWith(`,"realm":{"a":1,"a":2}`)), true},
		"account of 1970":                       {tokenOf(plainHead, claimsWith(`,"account_created_at":0`)), true},
		"an exponent":                           {tokenOf(plainHead, claimsWith(`,"nbf":1.7e9,"iat":1796115600`)), true},
		"nbf null":                              {tokenOf(plainHead, claimsWith(`,"nbf":null`)), false},
		"nbf escaped, later":                    {tokenOf(plainHead, claimsWith(`,"\u006ebf":1900000000`)), false},
		"nbf -0":                                {tokenOf(plainHead, claimsWith(`,"nbf":-0`)), false},
		"nbf 0":                                 {tokenOf(plainHead, claimsWith(`,"nbf":0,"iat":1796115600`)), false},
		"nbf null, with iat":                    {tokenOf(plainHead, claimsWith(`,"nbf":null,"iat":1796115600`)), false},
		"tags null":                             {tokenOf(plainHead, claimsWith(`,"tags":null`)), false},
		"tags of numbers":                       {tokenOf(plainHead, claimsWith(`,"tags":[1]`)), false},
		"orders null":                           {tokenOf(plainHead, claimsWith(`,"paid_orders":null`)), false},
		"a header with a number beyond a float": {tokenOf(`{"alg":"HS256","kid":"a","x":1e999}`, claimsWith("")), false},
		"sub twice":                             {tokenOf(plainHead, claimsWith(`,"sub":"bob"`)), true},
		"a fraction":                            {tokenOf(plainHead, claimsWith(`,"nbf":1700000000.5,"iat":1796115600`)), true},
		"data behind":                           {tokenOf(plainHead, claimsWith("")+"{}"), true},
		"other header":                          {tokenOf(`{"alg":"HS256","x":1}`, claimsWith("")), true},
		"critical header":                       {tokenOf(`{"alg":"HS256","crit":["x"]}`, claimsWith("")), false},
		"alg twice":                             {tokenOf(`{"alg":"HS256","alg":"none"}`, claimsWith("")), false},
		"other algorithm":                       {tokenOf(`{"alg":"HS512"}`, claimsWith("")), false},
		"no claims":                             {tokenOf(plainHead, `{}`), false},
		"not an object":                         {tokenOf(plainHead, `[]`), false},
		"a comma too many":                      {tokenOf(plainHead, claimsWith(",")), false},
		"other issuer":                          {tokenOf(plainHead, strings.Replace(claimsWith(""), "shop", "Shop", 1)), false},
		"other audience":                        {tokenOf(plainHead, strings.Replace(claimsWith(""), "sluice", "mail", 1)), false},
		"tags text":                             {tokenOf(plainHead, claimsWith(`,"tags":"vip"`)), false},
		"orders 01":                             {tokenOf(plainHead, claimsWith(`,"paid_orders":01`)), false},
		"orders negative":                       {tokenOf(plainHead, claimsWith(`,"paid_orders":-1`)), false},
		"orders too many":                       {tokenOf(plainHead, claimsWith(`,"paid_orders":99999999999999999999`)), false},
		"begins later":                          {tokenOf(plainHead, claimsWith(fmt.Sprintf(`,"nbf":%d`, plainNow.Add(time.Minute).Unix()))), false},
		"lasts too long":                        {tokenOf(plainHead, claimsWith(`,"iat":1700000000`)), false},
		"other's signature":                     {good[:end] + other[strings.LastIndexByte(other, '.')+1:], false},
		"no signature":                          {good[:end], false},
		"signature cut":                         {good[:len(good)-1], false},
		"a part too many":                       {tokenOf(plainHead, claimsWith("")) + ".x", false},
		"nothing":                               {"", false},
		"user of control":                       {tokenOf(plainHead, claimsWith(`,"x":"`+"\x01"+`"`)), false},
		"user is not UTF-8":                     {tokenOf(plainHead, strings.Replace(claimsWith(""), "ann", "ann\xff", 1)), false},
	} {
		if plain, good := agrees(t, v, c.token); plain || good != c.good {
			t.Errorf("%s: plain %v, good %v", name, plain, good)
		}
	}
}

// FuzzPlain signs whatever header and claims there are: a forged token would never get
// as far as to be read.
func FuzzPlain(f *testing.F) {
	for _, more := range []string{"", `,"tags":["a"],"paid_orders":1`, `,"iat":1,"nbf":2`, `,"aud":["sluice"]`, `,"exp":1e3`, `,"\u0073ub":"bob"`, `,"x":[{}]`, `,"sub":null`} {
		f.Add(plainHead, claimsWith(more))
	}
	f.Add(`{"alg":"HS256","kid":"a"}`, `{"iss":"shop","aud":["sluice"],"sub":"王","exp":1796122800,"account_created_at":1,"z":"a"}`)
	v := plainVerifier(f)
	f.Fuzz(func(t *testing.T, header, claims string) { agrees(t, v, tokenOf(header, claims)) })
}

// It allocates the user's id, and an error with its text; with the race detector pools lose
// a part of what they keep. Not parallel: AllocsPerRun counts the whole process.
func TestVerify_OfATokenOfASecretReusesItsMemory(t *testing.T) {
	const most = 30 // the parser takes 60
	v := plainVerifier(t)
	good, odd := tokenOf(plainHead, claimsWith("")), tokenOf(plainHead, claimsWith(`,"nbf":1796115600.5`))
	for name, token := range map[string]string{"good": good, "forged": good[:len(good)-2] + "AA", "forged, and not plain": odd[:len(odd)-2] + "AA"} {
		n := testing.AllocsPerRun(1000, func() {
			if _, err := v.Verify(token, plainNow); (err == nil) != (name == "good") {
				t.Fatalf("%s: %v", name, err)
			}
		})
		if n > most {
			t.Errorf("%s: %v heap allocations", name, n)
		}
		t.Logf("%s: %v heap allocations", name, n)
	}
}
