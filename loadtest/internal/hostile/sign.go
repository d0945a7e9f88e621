package hostile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"
)

const hs256 = `{"alg":"HS256","typ":"JWT"}`

// claims are those of a good token of a subject, which is JSON.
func (k Keys) claims(sub string) string {
	now := time.Now()
	return fmt.Sprintf(`{"iss":%s,"aud":%s,"sub":%s,"iat":%d,"exp":%d}`, strconv.Quote(k.Issuer), strconv.Quote(k.Audience), sub, now.Unix(), now.Add(time.Hour).Unix())
}

// sign makes a token as the shop does, of claims that nobody has checked.
func (k Keys) sign(claims string) string { return signed(hs256, claims, k.JWT) }

// signed is a token of any header, whatever that says.
func signed(header, claims, key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	text := encoded(header) + "." + encoded(claims)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func encoded(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// flipped is another character of base64url.
func flipped(c byte) string {
	if c == 'A' {
		return "Q"
	}
	return "A"
}
