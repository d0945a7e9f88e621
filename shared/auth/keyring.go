package auth

import (
	"crypto"
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
)

// PublicKey verifies tokens of one algorithm, which its kind says and no token.
type PublicKey struct {
	id  string // kid; "" if it has none
	alg string // RS256, ES256 or EdDSA
	key crypto.PublicKey
}

// algorithms are all that a token may be signed with.
func algorithms() []string {
	return []string{jwt.SigningMethodHS256.Alg(), jwt.SigningMethodRS256.Alg(), jwt.SigningMethodES256.Alg(), jwt.SigningMethodEdDSA.Alg()}
}

// keyring are the keys of one generation: a token that was verified with it is worth
// nothing under the next.
type keyring struct {
	generation uint64
	secrets    jwt.VerificationKeySet
	macs       []*macs // of the secrets
	public     []PublicKey
}

// keyFor returns what the token's signature must be of. The token only chooses among
// keys; what each is used for is pinned. At most one public key is tried, so that a
// forged token costs one signature check, however many keys there are.
func (k *keyring) keyFor(token *jwt.Token) (any, error) {
	alg := token.Method.Alg()
	if alg == jwt.SigningMethodHS256.Alg() {
		if len(k.secrets.Keys) == 0 {
			return nil, errors.New("no secret is known")
		}
		return k.secrets, nil
	}
	kid, err := kidOf(token)
	if err != nil {
		return nil, err
	}
	found, err := choose(k.public, alg, kid)
	if err != nil {
		return nil, err
	}
	return found.key, nil
}

// choose finds the key that has the name, else the only one of the algorithm if it or
// the token is without a name.
func choose(keys []PublicKey, alg, kid string) (PublicKey, error) {
	var only PublicKey
	n := 0
	for _, key := range keys {
		if kid != "" && key.id == kid {
			if key.alg != alg {
				return PublicKey{}, fmt.Errorf("key %q is for %s, not for %s", kid, key.alg, alg)
			}
			return key, nil
		}
		if key.alg == alg {
			only = key
			n++
		}
	}
	if n != 1 || kid != "" && only.id != "" {
		return PublicKey{}, fmt.Errorf("no key %q for %s is known", kid, alg)
	}
	return only, nil
}

func kidOf(token *jwt.Token) (string, error) {
	raw, given := token.Header["kid"]
	kid, ok := raw.(string)
	if given && !ok {
		return "", errors.New("kid must be a string")
	}
	return kid, nil
}
