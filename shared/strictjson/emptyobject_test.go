package strictjson_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/shared/strictjson"
)

func TestEmptyObject_NamesWhatIsAtFault(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"": "", "{}": "", " {\n} ": "",
		"[]": "body", "null": "body", "{": "body", "{} {}": "body", "\x00": "body", "\ufeff{}": "body", `{"":1}`: "body",
		`{"quantity":2}`: "quantity", `{"a":1,"a":2}`: "a",
		`{"` + strings.Repeat("x", 100) + `":1}`: strings.Repeat("x", 64) + "…",
	} {
		field, err := strictjson.EmptyObject([]byte(body), "it has none")
		if field != want || (err == nil) != (want == "") {
			t.Errorf("%q: field %q, %v; want %q", body, field, err, want)
		}
	}
}

func FuzzEmptyObject(f *testing.F) {
	for _, seed := range []string{
		"{}", " {\n}\t", "", "null", "[]", `{"quantity":1}`, `{"a":1,"a":2}`, `{"":1}`, "\ufeff{}", "{\x00}", "{}\x00", "{}{}", "{,}", "{1:2}", "{",
		"{\"\xff\":1}", `{"a":` + strings.Repeat("[", 1000), strings.Repeat("[", 1000), `{"` + strings.Repeat("k", 100) + `":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var object map[string]json.RawMessage
		empty := len(body) == 0 || json.Unmarshal(body, &object) == nil && object != nil && len(object) == 0
		field, err := strictjson.EmptyObject(body, "none")
		if (err == nil) != empty {
			t.Fatalf("%q: %v", body, err)
		}
		if err != nil && (field == "" || !utf8.ValidString(field) || utf8.RuneCountInString(field) > 64+1) {
			t.Errorf("%q: field %q", body, field)
		}
	})
}
