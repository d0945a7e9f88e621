package auth

import (
	"bytes"
	"errors"
	"fmt"
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

// VerifierConfig says which tokens to believe. Every field but Leeway is needed.
type VerifierConfig struct {
	HS256Keys [][]byte // one, or two while the shop changes keys; at least 32 bytes each
	Issuer    string   // the iss claim
	Audience  string   // one of the aud claim
	Leeway    time.Duration
}

// Identity is who a verified token speaks for.
type Identity struct {
	UserID string
	Claims sale.Claims
}

// Verifier verifies tokens. It may be used concurrently.
type Verifier struct {
	parser *jwt.Parser
	keys   jwt.VerificationKeySet
	config VerifierConfig
}

// NewVerifier refuses a configuration that would leave a check out.
func NewVerifier(c VerifierConfig) (*Verifier, error) {
	switch {
	case len(c.HS256Keys) < 1 || len(c.HS256Keys) > 2:
		return nil, fmt.Errorf("cannot verify tokens with %d keys: give one or two", len(c.HS256Keys))
	case c.Issuer == "" || c.Audience == "":
		return nil, errors.New("cannot verify tokens without an issuer and an audience")
	case c.Leeway < 0 || c.Leeway > MaxLeeway:
		return nil, fmt.Errorf("cannot verify tokens with a leeway of %v: at most %v", c.Leeway, MaxLeeway)
	}
	v := &Verifier{
		config: c,
		// The claims are validated in Verify, at the caller's time.
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithStrictDecoding(), jwt.WithJSONNumber(), jwt.WithoutClaimsValidation(),
		),
	}
	for _, key := range c.HS256Keys {
		if err := checkKey(key); err != nil {
			return nil, fmt.Errorf("cannot verify tokens: %w", err)
		}
		v.keys.Keys = append(v.keys.Keys, bytes.Clone(key))
	}
	return v, nil
}

// Verify returns who the token speaks for at now. Size, algorithm, signature, issuer,
// audience and times must be right, and sub must be a valid user id. Every error
// wraps ErrToken.
func (v *Verifier) Verify(token string, now time.Time) (Identity, error) {
	id, err := v.verify(token, now)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	return id, nil
}

func (v *Verifier) verify(token string, now time.Time) (Identity, error) {
	if len(token) > maxTokenBytes {
		return Identity{}, fmt.Errorf("it has more than %d bytes", maxTokenBytes)
	}
	claims := jwt.MapClaims{}
	parsed, err := v.parser.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return v.keys, nil })
	if err != nil {
		return Identity{}, err
	}
	if _, critical := parsed.Header["crit"]; critical {
		return Identity{}, errors.New("critical header extensions are not understood")
	}
	if err := v.validator(now).Validate(claims); err != nil {
		return Identity{}, err
	}
	valid, err := periodOf(claims, v.config.Leeway)
	if err != nil {
		return Identity{}, err
	}
	if !valid.holds(now) {
		return Identity{}, errors.New("it is issued in the future, not valid yet, or expired")
	}
	return readIdentity(claims)
}

func (v *Verifier) validator(now time.Time) *jwt.Validator {
	return jwt.NewValidator(
		jwt.WithIssuer(v.config.Issuer), jwt.WithAudience(v.config.Audience), jwt.WithLeeway(v.config.Leeway),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }),
	)
}

// Mint issues a token for userID that expires ttl after now, for tests, the
// demo and trying things; buyers' tokens come from the shop.
func Mint(key []byte, issuer, audience, userID string, claims sale.Claims, now time.Time, ttl time.Duration) (string, error) {
	if err := checkKey(key); err != nil {
		return "", fmt.Errorf("cannot mint token: %w", err)
	}
	if err := sale.ValidateUserID(userID); err != nil {
		return "", fmt.Errorf("cannot mint token: %w", err)
	}
	if ttl > MaxLifetime {
		return "", fmt.Errorf("cannot mint token for %v: nobody takes one for more than %v", ttl, MaxLifetime)
	}
	body := writeClaims(claims)
	body["iss"], body["aud"], body["sub"] = issuer, audience, userID
	body["iat"], body["exp"] = now.Unix(), now.Add(ttl).Unix()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, body).SignedString(key)
	if err != nil {
		return "", fmt.Errorf("cannot mint token: %w", err)
	}
	return token, nil
}
