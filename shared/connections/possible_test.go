package connections

import (
	"strings"
	"testing"
)

func TestPossible_IsWhatIsAskedOrUsualAndWithinTheOpenFiles(t *testing.T) {
	t.Parallel()
	if n, err := Possible(0, 100, 10); err != nil || n < 1 || n > 100 {
		t.Errorf("usual: %d, %v", n, err)
	}
	if n, err := Possible(3, 100, 10); err != nil || n != 3 {
		t.Errorf("asked for 3: %d, %v", n, err)
	}
	for asked, words := range map[int][]string{1 << 40: {"-max-connections", "ulimit -n"}, -1: {"-max-connections", "negative"}} {
		_, err := Possible(asked, 100, 10)
		for _, word := range words {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("asked for %d: error %v, want %q in it", asked, err, word)
			}
		}
	}
}
