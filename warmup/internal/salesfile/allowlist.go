package salesfile

import (
	"bytes"
	"fmt"

	"sluice/shared/sale"
)

// maxAllowListBytes bounds an allow list to some millions of users.
const maxAllowListBytes = 64 << 20

// readAllowList reads a file of user ids, one a line. Blanks belong to the id;
// a carriage return before the line's end, a byte order mark before the first
// line and empty lines do not count.
func readAllowList(path string) ([]string, error) {
	data, err := readBounded(path, maxAllowListBytes)
	if err != nil {
		return nil, fmt.Errorf("cannot read allow list: %w", err)
	}
	users, err := parseAllowList(data)
	if err != nil {
		return nil, fmt.Errorf("cannot read allow list %s: %w", path, err)
	}
	return users, nil
}

func parseAllowList(data []byte) ([]string, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var users []string
	number := 0
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		number++
		id := string(bytes.TrimSuffix(line, []byte("\r")))
		if id == "" {
			continue
		}
		if err := sale.ValidateUserID(id); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		users = append(users, id)
	}
	if len(users) == 0 {
		return nil, fmt.Errorf("no user ids: nobody could buy")
	}
	return users, nil
}
