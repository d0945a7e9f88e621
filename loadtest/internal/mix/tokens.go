package mix

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash"
	"strconv"
	"sync"
	"time"
)

// UserID names a buyer of the crowd. Another seed is other buyers.
func (c *Crowd) UserID(user int64) string {
	return "mix-" + strconv.FormatInt(c.mix.Seed, 10) + "-" + strconv.FormatInt(user, 10)
}

// IdempotencyKey spells an attempt's key, "" for none.
func (a Attempt) IdempotencyKey() string {
	if a.Key < 0 {
		return ""
	}
	return "mix-" + strconv.FormatInt(a.Key, 10)
}

// Tokens makes buyers' JWTs, an eighth as expensive as auth.Mint does, because a sender
// makes one for every attempt and shares the machine with what it measures. It is safe
// for concurrent use.
type Tokens struct {
	head, rest string // of the claims, around the user
	macs       sync.Pool
}

// jwtHead is {"alg":"HS256","typ":"JWT"}.
const jwtHead = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."

// NewTokens makes tokens for so long from now, signed with the key's bytes.
func NewTokens(key []byte, issuer, audience string, now time.Time, ttl time.Duration) (*Tokens, error) {
	common, err := json.Marshal(struct {
		Aud string `json:"aud"`
		Exp int64  `json:"exp"`
		Iat int64  `json:"iat"`
		Iss string `json:"iss"`
	}{audience, now.Add(ttl).Unix(), now.Unix(), issuer})
	if err != nil {
		return nil, fmt.Errorf("cannot make tokens: %w", err)
	}
	t := &Tokens{head: `{"sub":"`, rest: `",` + string(common[1:])}
	t.macs.New = func() any { return hmac.New(sha256.New, key) }
	return t, nil
}

// Token is the JWT of a user whose id needs no escape in JSON, as UserID's.
func (t *Tokens) Token(userID string) string {
	claims := make([]byte, 0, 256)
	claims = append(append(append(claims, t.head...), userID...), t.rest...)
	text := make([]byte, 0, 512)
	text = base64.RawURLEncoding.AppendEncode(append(text, jwtHead...), claims)
	mac, _ := t.macs.Get().(hash.Hash)
	defer t.macs.Put(mac)
	mac.Reset()
	_, _ = mac.Write(text) // never fails
	var sum [sha256.Size]byte
	text = base64.RawURLEncoding.AppendEncode(append(text, '.'), mac.Sum(sum[:0]))
	return string(text)
}
