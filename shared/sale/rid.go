package sale

import "fmt"

// ridLength is the length of a UUID in canonical form.
const ridLength = 36

// ValidateRID refuses what is not a UUID in canonical form: lower case, with
// hyphens. The version is left open, because a rid may be derived from another.
func ValidateRID(rid string) error {
	if len(rid) != ridLength {
		return fmt.Errorf("rid must have %d characters, has %d", ridLength, len(rid))
	}
	for i := range len(rid) {
		if !ridCharacter(i, rid[i]) {
			return fmt.Errorf("rid %q is not a UUID in canonical form", rid)
		}
	}
	return nil
}

func ridCharacter(i int, c byte) bool {
	switch i {
	case 8, 13, 18, 23:
		return c == '-'
	}
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
}
