// Package auth says who a buyer is and which ticket is theirs: it verifies the
// tokens that the shop issues and signs and opens tickets. It verifies webhooks of
// the payment provider too. It does no I/O and reads no clock.
//
// Trust: a token is believed for its user and claims while its signature,
// algorithm, issuer, audience and expiry hold. A ticket is believed to have been
// issued to the user who shows it; whether its reservation exists is for the
// stores to say. A webhook is believed while its signature is of its very bytes, under a
// key that is known, and not older than the tolerance.
package auth

import "fmt"

// minKeyBytes is what HMAC-SHA256 asks of a key: no shorter than its output.
const minKeyBytes = 32

func checkKey(key []byte) error {
	if len(key) < minKeyBytes {
		return fmt.Errorf("key must have at least %d bytes, has %d", minKeyBytes, len(key))
	}
	return nil
}
