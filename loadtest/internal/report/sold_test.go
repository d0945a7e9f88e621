package report

import (
	"slices"
	"strings"
	"testing"
)

func TestSold_SaysWhatWasMeasuredAndWhatWasNot(t *testing.T) {
	t.Parallel()
	s := Sold{System: "sluice", Units: 10_000, Attempts: 200_000, Rounds: 3, OrderLayer: Spread{10_700, 10_600, 10_900}, DBRows: Spread{20_100, 20_100, 20_100},
		DBRowsPerS: Spread{4000, 4000, 4000}, DBTransactions: Spread{60, 60, 60}, DBTransactionsPerS: Spread{12, 12, 12},
		WinnerP95MS: Spread{90, 80, 100}, RefusedP95MS: Spread{12, 10, 13}, AttemptsPerS: Spread{41_000, 41_000, 41_000}, LastOrderS: Spread{1.2, 1, 1.5}, UnitsS: Spread{1.2, 1, 1.5}}
	want := []string{"sluice", "10,700 (10,600 to 10,900)", "20,100", "4,000", "60", "12", "90 ms", "12 ms", "41,000", "1.2 s", "1.2 s (1 s to 1.5 s)", "0", "0"}
	if got := s.Cells(); !slices.Equal(got, want) || len(got) != len(soldHead) {
		t.Errorf("%q, want %q", got, want)
	}
	s.RefusedP95MS, s.UnitsS = Spread{}, Spread{}
	if table := SoldTable([]Sold{s}); !strings.Contains(table, "| nobody was |") || !strings.Contains(table, "| never |") || strings.Count(table, "\n") != 3 {
		t.Errorf("%s", table)
	}
}
