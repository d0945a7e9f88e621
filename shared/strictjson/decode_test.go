package strictjson_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"sluice/shared/strictjson"
)

type amounts struct {
	Parts []part `json:"parts"`
	Total int64  `json:"total"`
}

type part struct {
	Name   string   `json:"name"`
	Amount int64    `json:"amount"`
	Tags   []string `json:"tags"`
}

// document has all that bodies are made of.
type document struct {
	ID    string    `json:"id"`
	N     int64     `json:"n"`
	Gift  bool      `json:"gift"`
	At    time.Time `json:"at"`
	In    amounts   `json:"in"`
	Maybe *[]part   `json:"maybe"`
}

func TestDecode_NamesTheFieldAtFault(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``: "body", `null`: "body", `[]`: "body", `"id"`: "body", `{"id":"a","n":1`: "body", `{"id":"a","n":1} {}`: "body",
		`{"id":"a","n":1}x`: "body", "\ufeff" + `{"id":"a","n":1}`: "body", `{"id":"a","n":1,}`: "body", `{"id":"a" "n":1}`: "body", `{"id":"a","n":01}`: "body",
		`{"id":"a","n":1,"":2}`: "body", "{\"\xff\":1}": "body",
		`{"id":"a"}`: "n", `{"n":1}`: "id", `{}`: "id", `{"id":"a","n":1,"n":1}`: "n", `{"id":"a","n":1,"N":1}`: "N", `{"id":"a","n":}`: "n",
		`{"id":"a","n":1.0}`: "n", `{"id":"a","n":1e2}`: "n", `{"id":"a","n":"1"}`: "n", `{"id":"a","n":null}`: "n", `{"id":"a","n":true}`: "n",
		`{"id":"a","n":9223372036854775808}`: "n", `{"id":"a","n":-9223372036854775809}`: "n",
		`{"id":1,"n":1}`: "id", `{"id":null,"n":1}`: "id", `{"id":["a"],"n":1}`: "id", "{\"id\":\"\xff\",\"n\":1}": "id", `{"id":"\ud800","n":1}`: "id",
		`{"gift":1}`: "gift", `{"gift":"true"}`: "gift", `{"gift":null}`: "gift",
		`{"at":1}`: "at", `{"at":null}`: "at", `{"at":"2026-12-01"}`: "at", `{"at":"2026-12-01T10:00:00"}`: "at", `{"at":"2026-12-01T10:00:00,5Z"}`: "at",
		`{"at":"0001-01-01T00:00:00Z"}`: "at", `{"at":"0001-01-01T08:00:00+08:00"}`: "at", `{"at":"1969-12-31T23:59:59.999Z"}`: "at", `{"at":"1970-01-01T00:00:00+00:01"}`: "at",
		`{"in":null}`: "in", `{"in":[]}`: "in", `{"in":"x"}`: "in", `{"in":{"total":1.5}}`: "in.total", `{"in":{"total":1,"total":1}}`: "in.total",
		`{"in":{"Total":1}}`: "in.Total", `{"in":{"x":1}}`: "in.x", `{"in":{"":1}}`: "in", `{"in":{"parts":null}}`: "in.parts", `{"in":{"parts":{}}}`: "in.parts",
		`{"in":{"parts":[{"name":"a"},{"amount":1.5}]}}`: "in.parts[1].amount", `{"in":{"parts":[null]}}`: "in.parts[0]", `{"in":{"parts":[1]}}`: "in.parts[0]",
		`{"in":{"parts":[{"1":1}]}}`: "in.parts[0].1", `{"in":{"parts":[{"tags":["a",null]}]}}`: "in.parts[0].tags[1]", `{"in":{"parts":[{"tags":["a",2]}]}}`: "in.parts[0].tags[1]",
		`{"maybe":null}`: "maybe", `{"maybe":[{"amount":"1"}]}`: "maybe[0].amount", `{"maybe":[{"name":"a","name":"b"}]}`: "maybe[0].name",
		`{"` + strings.Repeat("é", 99) + `":1}`: strings.Repeat("é", 64) + "…",
		`{"x":` + strings.Repeat("[", 1<<20):    "x", `{"n":` + strings.Repeat("[", 1<<20): "n" + strings.Repeat("[0]", 21) + "…",
		`{"in":{"parts":[{}` + strings.Repeat(",{}", 10_000): "in.parts", `{"in":{"parts":[{},{"tags":[""` + strings.Repeat(`,""`, 10_000): "in.parts[1].tags",
		strings.Repeat("[", 1<<20): "body",
	} {
		var got document
		field, err := strictjson.Decode([]byte(body), &got, "id", "n")
		if field != want || err == nil {
			t.Errorf("%.80q: field %q, %v; want %q", body, field, err, want)
		}
		if err != nil && (len(err.Error()) > 400 || strings.Contains(err.Error(), "json") || strings.Contains(err.Error(), "Go ")) {
			t.Errorf("%.80q: %v", body, err)
		}
	}
}

func TestDecode_SaysWhatATimeMustBe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`1`: "at must be a time as of RFC 3339", `"soon"`: "at must be a time as of RFC 3339", `null`: "at must not be null", `"0001-01-01T00:00:00Z"`: "at must lie in 1970 or later",
		`"1970-01-01T00:00:00Z"`: "", `"1970-01-01T08:00:00+08:00"`: "",
	} {
		var got document
		_, err := strictjson.Decode([]byte(`{"at":`+text+`}`), &got)
		if said := strings.NewReplacer("field ", "", `"`, "").Replace(fmt.Sprint(err)); want == "" && (err != nil || got.At.Unix() != 0) || want != "" && said != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestDecode_TakesTenThousandEntries(t *testing.T) {
	t.Parallel()
	var got document
	field, err := strictjson.Decode([]byte(`{"maybe":[{}`+strings.Repeat(",{}", 9_999)+"]}"), &got)
	if err != nil || len(*got.Maybe) != 10_000 {
		t.Errorf("field %q, %v", field, err)
	}
}

func TestDecode_FillsWhatIsThereAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 12, 1, 10, 0, 0, 0, time.UTC)
	for body, want := range map[string]document{
		` {"n":-9223372036854775808,"id":"\u0061b"} `: {ID: "ab", N: -1 << 63, Gift: true},
		`{"id":"","n":9223372036854775807,"gift":false,"at":"2026-12-01T10:00:00Z","in":{"total":7,"parts":[{"name":"a","amount":1,"tags":["x"]},{}]},"maybe":[]}`: {
			N: 1<<63 - 1, At: at, In: amounts{Parts: []part{{"a", 1, []string{"x"}}, {}}, Total: 7}, Maybe: new([]part{})},
	} {
		got := document{Gift: true}
		field, err := strictjson.Decode([]byte(body), &got, "id", "n")
		if field != "" || err != nil {
			t.Errorf("%s: field %q, %v", body, field, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", body, diff)
		}
	}
}

// FuzzDecode holds that it neither panics nor refuses without naming a field, and that
// what it takes has no other meaning for whoever reads JSON loosely.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a","n":1}`, `{"id":"a","n":1,"gift":true,"at":"2026-12-01T10:00:00+08:00","in":{"parts":[{"name":"a","amount":1,"tags":["x"]}],"total":1},"maybe":[]}`,
		`{"ID":"a"}`, `{"id":"a","id":"b","n":2}`, `{"in":{"parts":[{"amount":1.5}]}}`, `{"maybe":null}`, `{"n":1e3}`, `{`, "\xff", `{"":0}`, `{"a/b~":0}`, `{"in":{"parts":[[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got document
		field, err := strictjson.Decode(body, &got, "id")
		if (err == nil) != (field == "") || !utf8.ValidString(field) || utf8.RuneCountInString(field) > 64+1 {
			t.Errorf("%q: field %q, error %v", body, field, err)
		}
		if err != nil {
			return
		}
		var loose document
		if err := json.Unmarshal(body, &loose); err != nil {
			t.Fatalf("%q is taken and no JSON: %v", body, err)
		}
		if diff := cmp.Diff(loose, got); diff != "" {
			t.Errorf("%q: (-loose +strict)\n%s", body, diff)
		}
	})
}
