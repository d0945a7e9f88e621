package salesfile

import (
	"slices"
	"strings"
	"testing"

	"sluice/shared/sale"
)

// FuzzAllowList holds that whatever is read can be written down, one a line, and is read
// the same again.
func FuzzAllowList(f *testing.F) {
	for _, seed := range []string{"", "\n", "ada\nbob\n", "\ufeffada\r\nbob", "ada\r\r\n", " ada \n", "a\x00b", "ada\nada", "\xff", strings.Repeat("x", 129), "\u4f60\u597d\n\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		users, err := parseAllowList(data)
		if err != nil {
			return
		}
		for _, id := range users {
			if err := sale.ValidateUserID(id); err != nil {
				t.Errorf("%q: %v", id, err)
			}
		}
		again, err := parseAllowList([]byte("\n" + strings.Join(users, "\n")))
		if err != nil || len(users) == 0 || !slices.Equal(users, again) {
			t.Errorf("%q is read again as %q, %v", users, again, err)
		}
	})
}
