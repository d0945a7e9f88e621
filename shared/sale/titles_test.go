package sale_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/shared/sale"
)

func TestTitleIn_FallsBackToTheOneForAll(t *testing.T) {
	t.Parallel()
	s := sale.Sale{Title: "Phone", Titles: map[string]string{"zh": "手机"}}
	for language, want := range map[string]string{"en": "Phone", "zh": "手机", "fr": "Phone"} {
		if got := s.TitleIn(language); got != want {
			t.Errorf("%s: %q, want %q", language, got, want)
		}
	}
	if got := (sale.Sale{Title: "Phone"}).TitleIn("zh"); got != "Phone" {
		t.Errorf("one title: %q", got)
	}
}

// A gateway of an older version reads the entry too.
func TestEntry_WithoutOtherTitlesIsEncodedAsBefore(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(sale.Entry{Sale: sale.Sale{Title: "Phone", Titles: map[string]string{}}})
	if err != nil || strings.Contains(string(b), "titles") {
		t.Errorf("%s, %v", b, err)
	}
}
