package auth

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"sluice/shared/sale"
)

// ErrToken is wrapped by every refusal of a token. The text behind it is for
// logs; buyers are told that they are not authenticated, not why.
var ErrToken = errors.New("invalid token")

// Bounds of a token.
const (
	maxTokenBytes = 4 << 10         // an honest one has a few hundred
	MaxLifetime   = 24 * time.Hour  // from its issue to its expiry
	MaxLeeway     = 5 * time.Minute // how long after its expiry a token may still be believed
)

// VerifierConfig says which tokens to believe. Issuer, Audience and a key are needed.
type VerifierConfig struct {
	HS256Keys  [][]byte    // one, or two while the shop changes keys; at least 32 bytes each
	PublicKeys []PublicKey // what Replace replaces
	Issuer     string      // the iss claim
	Audience   string      // one of the aud claim
	Leeway     time.Duration
	CacheSize  int // verified tokens remembered, of those that are dear to verify; 0 is none
}

// Identity is who a verified token speaks for. Several requests share one: nobody
// changes what is in it.
type Identity struct {
	UserID string
	Claims sale.Claims
}

// Verifier verifies tokens. It may be used concurrently.
type Verifier struct {
	parser *jwt.Parser
	config VerifierConfig
	keys   atomic.Pointer[keyring]
	cache  *tokenCache
	counts tokenCounts
}

// NewVerifier refuses a configuration that would leave a check out.
func NewVerifier(c VerifierConfig) (*Verifier, error) {
	switch {
	case len(c.HS256Keys) == 0 && len(c.PublicKeys) == 0:
		return nil, errors.New("cannot verify tokens without a key")
	case len(c.HS256Keys) > 2:
		return nil, fmt.Errorf("cannot verify tokens with %d secrets: give at most two", len(c.HS256Keys))
	case c.Issuer == "" || c.Audience == "":
		return nil, errors.New("cannot verify tokens without an issuer and an audience")
	case c.Leeway < 0 || c.Leeway > MaxLeeway:
		return nil, fmt.Errorf("cannot verify tokens with a leeway of %v: at most %v", c.Leeway, MaxLeeway)
	}
	cache, err := newTokenCache(c.CacheSize)
	if err != nil {
		return nil, err
	}
	v := &Verifier{
		config: c, cache: cache,
		// The claims are validated in Verify, at the caller's time.
		parser: jwt.NewParser(
			jwt.WithValidMethods(algorithms()),
			jwt.WithStrictDecoding(), jwt.WithJSONNumber(), jwt.WithoutClaimsValidation(),
		),
	}
	keys := &keyring{public: c.PublicKeys}
	for _, key := range c.HS256Keys {
		if err := checkKey(key); err != nil {
			return nil, fmt.Errorf("cannot verify tokens: %w", err)
		}
		key = bytes.Clone(key)
		keys.secrets.Keys = append(keys.secrets.Keys, key)
		keys.macs = append(keys.macs, newMACs(key))
	}
	v.keys.Store(keys)
	return v, nil
}

// Replace puts other public keys in the place of those so far; secrets stay. What was
// verified before is verified anew. One goroutine at a time may call it.
func (v *Verifier) Replace(public []PublicKey) {
	so := v.keys.Load()
	v.keys.Store(&keyring{generation: so.generation + 1, secrets: so.secrets, macs: so.macs, public: public})
}

// Verify returns who the token speaks for at now. Size, algorithm, signature, issuer,
// audience and times must be right, and sub must be a valid user id. Every error
// wraps ErrToken.
func (v *Verifier) Verify(token string, now time.Time) (Identity, error) {
	id, err := v.verify(token, now)
	if err != nil {
		v.counts.refused.Add(1)
		return Identity{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	return id, nil
}

func (v *Verifier) verify(token string, now time.Time) (Identity, error) {
	if len(token) > maxTokenBytes {
		return Identity{}, fmt.Errorf("it has more than %d bytes", maxTokenBytes)
	}
	keys := v.keys.Load()
	w := idleWorkspaces.Get().(*workspace)
	defer idleWorkspaces.Put(w)
	w.take(token)
	id, plain := v.examinePlain(w, now)
	if !plain {
		return v.recall(w, token, keys, now)
	}
	if w.forged(keys) {
		return Identity{}, jwt.ErrTokenSignatureInvalid
	}
	v.counts.verified.Add(1)
	return id, nil
}

// recall verifies a token unless it is remembered.
func (v *Verifier) recall(w *workspace, token string, keys *keyring, now time.Time) (Identity, error) {
	remember := v.cache != nil && len(token) <= maxCachedBytes
	var digest tokenDigest
	if remember {
		digest = sha256.Sum256(w.token)
		if id, known := v.cache.find(digest, keys.generation, now); known {
			v.counts.cached.Add(1)
			return id, nil
		}
	}
	if w.forged(keys) { // which costs less to find out than what examine reads first
		return Identity{}, jwt.ErrTokenSignatureInvalid
	}
	b, err := v.examine(token, keys, now)
	if err != nil {
		return Identity{}, err
	}
	v.counts.verified.Add(1)
	if remember {
		v.cache.keep(digest, b)
	}
	return b.identity, nil
}

// examine verifies a token that nothing is known of.
func (v *Verifier) examine(token string, keys *keyring, now time.Time) (believed, error) {
	claims := jwt.MapClaims{}
	parsed, err := v.parser.ParseWithClaims(token, claims, keys.keyFor)
	if err != nil {
		return believed{}, err
	}
	if _, critical := parsed.Header["crit"]; critical {
		return believed{}, errors.New("critical header extensions are not understood")
	}
	if err := v.validator(now).Validate(claims); err != nil {
		return believed{}, err
	}
	said, err := timesOf(claims)
	if err != nil {
		return believed{}, err
	}
	valid, err := said.period(v.config.Leeway)
	if err != nil {
		return believed{}, err
	}
	if !valid.holds(now) {
		return believed{}, errors.New("it is issued in the future, not valid yet, or expired")
	}
	id, err := readIdentity(claims)
	return believed{identity: id, valid: valid, generation: keys.generation}, err
}

func (v *Verifier) validator(now time.Time) *jwt.Validator {
	return jwt.NewValidator(
		jwt.WithIssuer(v.config.Issuer), jwt.WithAudience(v.config.Audience), jwt.WithLeeway(v.config.Leeway),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }),
	)
}

// tokenCounts count what became of tokens.
type tokenCounts struct{ cached, verified, refused atomic.Uint64 }

// TokenCounts are what became of the tokens that were shown so far.
type TokenCounts struct {
	Cached, Verified, Refused uint64
	Remembered                int // now
}

// Counts reads the counts.
func (v *Verifier) Counts() TokenCounts {
	return TokenCounts{
		Cached: v.counts.cached.Load(), Verified: v.counts.verified.Load(), Refused: v.counts.refused.Load(), Remembered: v.cache.len(),
	}
}
