package sale

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// ValidateID refuses sale ids outside [a-z0-9-]{1,64}.
func ValidateID(id string) error { return validateID("sale", id) }

// ValidateTemplateID refuses ids of templates outside [a-z0-9-]{1,64}.
func ValidateTemplateID(id string) error { return validateID("template", id) }

func validateID(what, id string) error {
	if len(id) < 1 || len(id) > 64 {
		return fmt.Errorf("%s id must have 1 to 64 characters, has %d", what, len(id))
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return fmt.Errorf("%s id %q: only a-z, 0-9 and - are allowed", what, id)
		}
	}
	return nil
}

// ValidateUserID refuses user ids that are not 1..128 UTF-8 characters without
// control and replacement characters. The Redis keys rely on it.
func ValidateUserID(id string) error {
	if !utf8.ValidString(id) {
		return fmt.Errorf("user id is not valid UTF-8")
	}
	if n := utf8.RuneCountInString(id); n < 1 || n > 128 {
		return fmt.Errorf("user id must have 1 to 128 characters, has %d", n)
	}
	for _, r := range id {
		if unicode.IsControl(r) || r == utf8.RuneError { // what broken text is read as: two users could become one
			return fmt.Errorf("user id has a character %U, which is not allowed", r)
		}
	}
	return nil
}

var errKeyCharacter = errors.New("Idempotency-Key has a character outside printable ASCII")

// KeyLengthError is of an idempotency key with so many characters.
type KeyLengthError int

func (e KeyLengthError) Error() string {
	return fmt.Sprintf("Idempotency-Key must have 1 to 64 characters, has %d", int(e))
}

// ParseIdempotencyKey reads an Idempotency-Key header, quoted or bare: 1..64
// printable ASCII characters.
func ParseIdempotencyKey(header string) (string, error) {
	key := header
	if n := len(key); n >= 2 && key[0] == '"' && key[n-1] == '"' {
		key = key[1 : n-1]
	}
	if len(key) < 1 || len(key) > 64 {
		return "", KeyLengthError(len(key))
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return "", errKeyCharacter
		}
	}
	return key, nil
}
