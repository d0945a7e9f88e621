package pricing_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/pricing"
)

type vector struct {
	Name string         `json:"name"`
	Cart pricing.Cart   `json:"cart"`
	Want map[string]any `json:"want"`
}

func vectorsIn(t *testing.T, path string) []vector {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []vector
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("%s is empty", path)
	}
	return all
}

func TestVectors(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"testdata/pricing.json", "testdata/more.json"} {
		for _, v := range vectorsIn(t, file) {
			t.Run(v.Name, func(t *testing.T) {
				t.Parallel()
				q, err := pricing.Best(v.Cart.WithDefaults(midday))
				if err != nil {
					t.Fatal(err)
				}
				got := answerOf(t, q)
				for name, want := range v.Want {
					if diff := cmp.Diff(want, got[name]); diff != "" {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
				}
			})
		}
	}
}

// answerOf is the members of the quote's JSON.
func answerOf(t *testing.T, q pricing.Quote) map[string]any {
	t.Helper()
	text, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
