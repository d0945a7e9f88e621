package adminapi

import (
	"context"
	"encoding/csv"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"sluice/shared/coupon"
)

// fakeLedger has sums and notes what it was asked for.
type fakeLedger struct {
	sums     []coupon.LedgerSum
	from, to time.Time
	deadline time.Time
}

func (f *fakeLedger) LedgerSums(ctx context.Context, from, to time.Time, limit int) ([]coupon.LedgerSum, error) {
	f.deadline, _ = ctx.Deadline()
	f.from, f.to = from, to
	return f.sums[:min(limit, len(f.sums))], nil
}

func ledgerSum(party string, given, honoured, reversed int64) coupon.LedgerSum {
	return coupon.LedgerSum{Day: time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC), Party: party, Currency: "CNY",
		Given: big.NewInt(given), Honoured: big.NewInt(honoured), Reversed: big.NewInt(reversed)}
}

func askLedger(t *testing.T, f *fakeLedger, query string) *httptest.ResponseRecorder {
	t.Helper()
	token := strings.Repeat("t", 32)
	api := New(token, slog.New(slog.DiscardHandler))
	api.Open(Stores{Ledger: f})
	request := httptest.NewRequest(http.MethodGet, "/admin/v1/ledger?"+query, nil)
	request.Header.Set("Authorization", "Bearer "+token)
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, request)
	return answer
}

func TestLedger_SumsAsJSON(t *testing.T) {
	t.Parallel()
	f := &fakeLedger{sums: []coupon.LedgerSum{ledgerSum("merchant", 300, 0, 300), ledgerSum("platform", 0, 0, 7)}}
	answer := askLedger(t, f, "from=2026-11-11&to=2026-11-12T08:00:00%2B08:00")
	want := `{"from":"2026-11-11T00:00:00Z","to":"2026-11-12T00:00:00Z","rows":[` +
		`{"day":"2026-11-11","party":"merchant","currency":"CNY","given":300,"honoured":0,"reversed":300,"net":0},` +
		`{"day":"2026-11-11","party":"platform","currency":"CNY","given":0,"honoured":0,"reversed":7,"net":-7}]}` + "\n"
	if answer.Code != http.StatusOK || answer.Body.String() != want {
		t.Errorf("got  %d %s\nwant %s", answer.Code, answer.Body, want)
	}
	if begin := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC); !f.from.Equal(begin) || !f.to.Equal(begin.AddDate(0, 0, 1)) {
		t.Errorf("asked for %v to %v", f.from, f.to)
	}
	if left := time.Until(f.deadline); left < 2*answerWithin || left > ledgerWithin {
		t.Errorf("the sums have %v", left)
	}
	if empty := askLedger(t, &fakeLedger{}, "from=2026-11-11&to=2026-11-12&format=json"); !strings.HasSuffix(empty.Body.String(), `"rows":[]}`+"\n") {
		t.Errorf("of nothing: %s", empty.Body)
	}
}

func TestLedger_SumsAsAFile(t *testing.T) {
	t.Parallel()
	most, _ := new(big.Int).SetString("18446744073709551614", 10)
	dear := ledgerSum(`a "big", one`, 0, 5, 1)
	dear.Given = most
	f := &fakeLedger{sums: []coupon.LedgerSum{dear, ledgerSum("=cmd|' /C calc'!A0", 1, 1, 0), ledgerSum("+1", 1, 0, 0), ledgerSum("-1", 1, 0, 0), ledgerSum("@x", 1, 0, 9), ledgerSum("m-1=2", 1, 0, 0)}}
	answer := askLedger(t, f, "from=2026-11-11&to=2026-11-12T00:00:01.5Z&format=csv")
	if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != "text/csv; charset=utf-8" ||
		answer.Header().Get("Content-Disposition") != `attachment; filename="ledger-2026-11-11-2026-11-12T000001.5Z.csv"` {
		t.Fatalf("%d %v", answer.Code, answer.Header())
	}
	rows, err := csv.NewReader(answer.Body).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"day", "party", "currency", "given", "honoured", "reversed", "net"},
		{"2026-11-11", `a "big", one`, "CNY", "18446744073709551614", "5", "1", "18446744073709551613"},
		{"2026-11-11", "'=cmd|' /C calc'!A0", "CNY", "1", "1", "0", "1"},
		{"2026-11-11", "'+1", "CNY", "1", "0", "0", "1"},
		{"2026-11-11", "'-1", "CNY", "1", "0", "0", "1"},
		{"2026-11-11", "'@x", "CNY", "1", "0", "9", "-8"},
		{"2026-11-11", "m-1=2", "CNY", "1", "0", "0", "1"},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("got  %q\nwant %q", rows, want)
	}
}

func TestLedger_NamesTheParameterThatIsWrong(t *testing.T) {
	t.Parallel()
	for query, field := range map[string]string{
		"": "from", "to=2026-11-12": "from", "from=2026-11-11": "to", "from=x&to=2026-11-12": "from", "from=2026-11-11&to=2026-02-30": "to",
		"from=2026-11-11T00:00:00&to=2026-11-12": "from", "from=2026-11-11&to=2026-11-11": "to", "from=2026-11-11&to=2026-11-10": "to",
		"from=2026-11-11&to=2027-11-13": "to", "from=2026-11-11&to=2026-11-12&format=xml": "format", "from=2026-11-11&to=2026-11-12&format=": "format",
		"from=2026-11-11&from=2026-11-11&to=2026-11-12": "from", "from=2026-11-11&to=2026-11-12&party=x": "query",
	} {
		answer := askLedger(t, &fakeLedger{}, query)
		if answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), `"field":"`+field+`"`) {
			t.Errorf("%s: %d %s, want field %s", query, answer.Code, answer.Body, field)
		}
	}
	if answer := askLedger(t, &fakeLedger{}, "from=2026-11-11&to=2027-11-12"); answer.Code != http.StatusOK {
		t.Errorf("366 days: %d %s", answer.Code, answer.Body)
	}
}

func TestLedger_IsBounded(t *testing.T) {
	t.Parallel()
	f := &fakeLedger{sums: make([]coupon.LedgerSum, maxLedgerSums+2)}
	for i := range f.sums {
		f.sums[i] = ledgerSum("m", 1, 0, 0)
	}
	if answer := askLedger(t, f, "from=2026-11-11&to=2026-11-12"); answer.Code != http.StatusBadRequest || !strings.Contains(answer.Body.String(), `"field":"to"`) {
		t.Errorf("%d %.200s", answer.Code, answer.Body)
	}
	f.sums = f.sums[:maxLedgerSums]
	if answer := askLedger(t, f, "from=2026-11-11&to=2026-11-12&format=csv"); answer.Code != http.StatusOK || strings.Count(answer.Body.String(), "\n") != maxLedgerSums+1 {
		t.Errorf("%d with %d lines", answer.Code, strings.Count(answer.Body.String(), "\n"))
	}
}
