package report

import (
	"slices"
	"testing"
)

func TestCompared_SaysWhatIsTooManyAndWhatWasMeasured(t *testing.T) {
	t.Parallel()
	c := Compared{System: "incident", Total: 5000, Limit: 1, Rounds: 3, Issued: Spread{5231, 4990, 5680}, Doubles: Spread{0, 0, 0},
		DBWrites: Spread{9000, 9000, 9000}, DBWritesPerS: Spread{1200, 900, 1300}, NewP95MS: Spread{118, 90, 130}}
	if over := c.Over(); over != (Spread{231, 0, 680}) {
		t.Errorf("over by %+v", over)
	}
	want := []string{"incident", "5,231 (4,990 to 5,680) of 5,000", "0", "9,000", "1,200 (900 to 1,300)", "118 ms", "with the answer"}
	if got := c.Cells(); !slices.Equal(got, want) || len(got) != len(comparedHead) {
		t.Errorf("%q, want %q", got, want)
	}
	c.HeldP95MS = 268
	if got := c.Cells(); got[6] != "268 ms later" {
		t.Errorf("%q", got)
	}
}
