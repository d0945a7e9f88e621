package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/json" // takes a member once, in one spelling
	"github.com/golang-jwt/jwt/v5"
)

// Bounds of a JWK set and of RSA keys in it.
const (
	MaxJWKSBytes  = 64 << 10
	maxPublicKeys = 32
	leastRSABits  = 2048
	mostRSABits   = 8192 // a check grows with the square of it
)

// ParseJWKS reads the public keys of a JWK set (RFC 7517): RSA of at least 2048 bits
// for RS256, P-256 for ES256, Ed25519 for EdDSA. A set with anything else in it is
// refused as a whole, as is one without keys: whoever replaced it has made a mistake.
// No two keys may be meant by one token: each has a kid of its own, unless it is the
// only one of its algorithm.
func ParseJWKS(data []byte) ([]PublicKey, error) {
	if len(data) > MaxJWKSBytes {
		return nil, fmt.Errorf("a JWK set must have at most %d bytes", MaxJWKSBytes)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, fmt.Errorf("not a JWK set: %w", err)
	}
	if len(set.Keys) < 1 || len(set.Keys) > maxPublicKeys {
		return nil, fmt.Errorf("a JWK set must have 1 to %d keys, has %d", maxPublicKeys, len(set.Keys))
	}
	keys := make([]PublicKey, len(set.Keys))
	for i, raw := range set.Keys {
		var err error
		if keys[i], err = parseJWK(raw); err != nil {
			return nil, fmt.Errorf("key %d (kid %q): %w", i+1, keys[i].id, err)
		}
		if err := distinct(keys[:i], keys[i]); err != nil {
			return nil, fmt.Errorf("key %d (kid %q): %w", i+1, keys[i].id, err)
		}
	}
	return keys, nil
}

// distinct refuses a key that a token could not tell from those before it.
func distinct(before []PublicKey, key PublicKey) error {
	for _, other := range before {
		switch {
		case key.id != "" && key.id == other.id:
			return errors.New("another key has this kid")
		case key.alg == other.alg && (key.id == "" || other.id == ""):
			return fmt.Errorf("several keys for %s need a kid each", key.alg)
		}
	}
	return nil
}

// parseJWK returns a key with its kid, if that can be read, on an error too.
func parseJWK(raw []byte) (PublicKey, error) {
	var said struct {
		Kty     string          `json:"kty"`
		Kid     string          `json:"kid"`
		Use     string          `json:"use"`
		Alg     string          `json:"alg"`
		KeyOps  []string        `json:"key_ops"`
		Private json.RawMessage `json:"d"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return PublicKey{}, err
	}
	key := PublicKey{id: said.Kid}
	switch {
	case said.Kty == "oct":
		return key, errors.New("a symmetric key (oct): give secrets to -jwt-hs256, not to a file of public keys")
	case len(said.Private) > 0:
		return key, errors.New("a private key: only its public part belongs here; whoever could read the file can sign tokens")
	case said.Use != "" && said.Use != "sig":
		return key, fmt.Errorf("its use is %q, not sig", said.Use)
	case len(said.KeyOps) > 0 && !slices.Contains(said.KeyOps, "verify"):
		return key, fmt.Errorf("its key_ops %q lack verify", said.KeyOps)
	}
	var parsed jose.JSONWebKey
	if err := parsed.UnmarshalJSON(raw); err != nil {
		return key, err
	}
	var err error
	if key.alg, err = algorithmOf(parsed.Key); err != nil {
		return key, err
	}
	if said.Alg != "" && said.Alg != key.alg {
		return key, fmt.Errorf("its alg is %q; such a key is taken for %s only", said.Alg, key.alg)
	}
	key.key = parsed.Key
	return key, nil
}

// algorithmOf is the one algorithm that a public key is taken for.
func algorithmOf(key crypto.PublicKey) (string, error) {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if bits := k.N.BitLen(); bits < leastRSABits || bits > mostRSABits {
			return "", fmt.Errorf("an RSA key must have %d to %d bits, has %d", leastRSABits, mostRSABits, bits)
		}
		if k.N.Bit(0) == 0 || k.E < 3 || k.E%2 == 0 {
			return "", errors.New("its modulus and exponent are not those of an RSA key")
		}
		return jwt.SigningMethodRS256.Alg(), nil
	case *ecdsa.PublicKey:
		if k.Curve != elliptic.P256() {
			return "", fmt.Errorf("an EC key must be of P-256, is of %s", k.Curve.Params().Name)
		}
		return jwt.SigningMethodES256.Alg(), nil
	case ed25519.PublicKey:
		return jwt.SigningMethodEdDSA.Alg(), nil
	default:
		return "", errors.New("not a public key for RS256, ES256 or EdDSA")
	}
}
