package auth

import (
	"bytes"
	"crypto"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"sluice/shared/sale"
)

// SigningKey signs tokens, for tests, the demo and trying things; buyers' tokens come
// from the shop.
type SigningKey struct {
	method jwt.SigningMethod
	key    any
	kid    string
}

// Secret is a key for HS256, at least 32 bytes.
func Secret(key []byte) (SigningKey, error) {
	if err := checkKey(key); err != nil {
		return SigningKey{}, err
	}
	return SigningKey{method: jwt.SigningMethodHS256, key: bytes.Clone(key)}, nil
}

// ParsePrivateKey reads a PEM file with a private key that ParseJWKS takes the public
// part of. Tokens name it by kid unless that is "".
func ParsePrivateKey(text []byte, kid string) (SigningKey, error) {
	key, err := readPrivateKey(text)
	if err != nil {
		return SigningKey{}, err
	}
	alg, err := algorithmOf(key.Public())
	if err != nil {
		return SigningKey{}, err
	}
	return SigningKey{method: jwt.GetSigningMethod(alg), key: key, kid: kid}, nil
}

func readPrivateKey(text []byte) (crypto.Signer, error) {
	if key, err := jwt.ParseRSAPrivateKeyFromPEM(text); err == nil {
		return key, nil
	}
	if key, err := jwt.ParseECPrivateKeyFromPEM(text); err == nil {
		return key, nil
	}
	if key, err := jwt.ParseEdPrivateKeyFromPEM(text); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	return nil, errors.New("no unencrypted private key of RSA, P-256 or Ed25519 in PEM")
}

// Token issues a token for userID that expires ttl after now.
func (k SigningKey) Token(issuer, audience, userID string, claims sale.Claims, now time.Time, ttl time.Duration) (string, error) {
	if err := sale.ValidateUserID(userID); err != nil {
		return "", fmt.Errorf("cannot mint token: %w", err)
	}
	if ttl > MaxLifetime {
		return "", fmt.Errorf("cannot mint token for %v: nobody takes one for more than %v", ttl, MaxLifetime)
	}
	body := writeClaims(claims)
	body["iss"], body["aud"], body["sub"] = issuer, audience, userID
	body["iat"], body["exp"] = now.Unix(), now.Add(ttl).Unix()
	token := jwt.NewWithClaims(k.method, body)
	if k.kid != "" {
		token.Header["kid"] = k.kid
	}
	signed, err := token.SignedString(k.key)
	if err != nil {
		return "", fmt.Errorf("cannot mint token: %w", err)
	}
	return signed, nil
}

// Mint is Token of a Secret.
func Mint(key []byte, issuer, audience, userID string, claims sale.Claims, now time.Time, ttl time.Duration) (string, error) {
	secret, err := Secret(key)
	if err != nil {
		return "", fmt.Errorf("cannot mint token: %w", err)
	}
	return secret.Token(issuer, audience, userID, claims, now, ttl)
}
