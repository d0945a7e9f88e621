package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"

	"sluice/shared/sale"
)

// ErrMerchantKey is the one error for keys that are malformed: whoever probes learns
// nothing from it.
var ErrMerchantKey = errors.New("no such merchant key")

const (
	merchantPrefix  = "sk"
	merchantIDBytes = 8
	merchantSecret  = 32 // bytes, so that a hash without a salt is enough
)

// ShownKey is a merchant's API key as it is shown.
type ShownKey struct {
	ID   string // 16 hex digits
	hash [sha256.Size]byte
}

// NewMerchantKey draws a key: what is shown to the merchant once, and what is kept.
func NewMerchantKey(merchant string, scopes []sale.Scope) (shown string, kept sale.MerchantKey) {
	var drawn [merchantIDBytes + merchantSecret]byte
	_, _ = rand.Read(drawn[:]) // never fails: the process ends if there is no randomness
	id, secret := drawn[:merchantIDBytes], drawn[merchantIDBytes:]
	kept = sale.MerchantKey{ID: hex.EncodeToString(id), Hash: sha256.Sum256(secret), Merchant: merchant, Scopes: scopes}
	return strings.Join([]string{merchantPrefix, kept.ID, hex.EncodeToString(secret)}, "_"), kept
}

// LooksLikeMerchantKey tells what is shown as a key from what is shown as a token.
func LooksLikeMerchantKey(shown string) bool { return strings.HasPrefix(shown, merchantPrefix+"_") }

// ParseMerchantKey reads a key, sk_ID_SECRET in lower-case hex, in its one spelling.
func ParseMerchantKey(key string) (ShownKey, error) {
	id, rest, _ := strings.Cut(strings.TrimPrefix(key, merchantPrefix+"_"), "_")
	secret, err := hex.DecodeString(rest)
	if err != nil || len(secret) != merchantSecret {
		return ShownKey{}, ErrMerchantKey
	}
	name, err := hex.DecodeString(id)
	if err != nil || len(name) != merchantIDBytes {
		return ShownKey{}, ErrMerchantKey
	}
	if strings.Join([]string{merchantPrefix, hex.EncodeToString(name), hex.EncodeToString(secret)}, "_") != key {
		return ShownKey{}, ErrMerchantKey
	}
	return ShownKey{ID: id, hash: sha256.Sum256(secret)}, nil
}

// Is reports whether what was shown is the key that was kept, in a time that does not
// depend on how much of it is right.
func (k ShownKey) Is(kept sale.MerchantKey) bool {
	return subtle.ConstantTimeCompare(k.hash[:], kept.Hash[:]) == 1 && k.ID != "" && k.ID == kept.ID && kept.RevokedAt.IsZero()
}
