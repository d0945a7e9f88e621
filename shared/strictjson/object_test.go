package strictjson

import (
	"strings"
	"testing"
	"time"
)

func TestObject_TakesExactlyItsMembers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{ // the field at fault
		` {"id": "a\u0062", "n": -5} `:          "",
		`{"n":9223372036854775807,"id":"ab"}`:   "",
		`{"id":"ab"}`:                           "n",
		`{"n":1}`:                               "id",
		`{"id":"ab","n":1,"n":1}`:               "n",
		`{"id":"ab","n":1,"N":1}`:               "N",
		`{"id":"ab","n":1.0}`:                   "n",
		`{"id":"ab","n":1e2}`:                   "n",
		`{"id":"ab","n":"1"}`:                   "n",
		`{"id":"ab","n":null}`:                  "n",
		`{"id":"ab","n":9223372036854775808}`:   "n",
		`{"id":1,"n":1}`:                        "id",
		`{"id":null,"n":1}`:                     "id",
		`{"id":"ab","n":1,"":2}`:                "body",
		`{"id":"ab","n":1} {}`:                  "body",
		`{"id":"ab","n":1`:                      "body",
		`{"id":"ab","n":}`:                      "body",
		`{"id":"ab",}`:                          "body",
		`{"id":"ab" "n":1}`:                     "body",
		`["id","n"]`:                            "body",
		`null`:                                  "body",
		``:                                      "body",
		"{\"id\":\"\xff\",\"n\":1}":             "body",
		`{"` + strings.Repeat("é", 99) + `":1}`: strings.Repeat("é", 64) + "…",
	} {
		var id string
		var n int64
		field, err := Object([]byte(body), map[string]any{"id": &id, "n": &n})
		if field != want || (err == nil) != (want == "") {
			t.Errorf("%.40q: field %q, %v; want %q", body, field, err, want)
		}
		if err == nil && (id != "ab" || n == 0) {
			t.Errorf("%s: id %q, n %d", body, id, n)
		}
	}
}

func TestObject_FlagsTimesAndWhatMayBeLeftOut(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{ // the field at fault
		`{"at":"2026-12-01T10:00:00+08:00"}`:             "",
		`{"at":"2026-12-01T10:00:00+08:00","gift":true}`: "",
		`{"gift":true}`:                                      "at",
		`{"at":"2026-12-01","gift":true}`:                    "at",
		`{"at":null}`:                                        "at",
		`{"at":1}`:                                           "at",
		`{"at":"2026-12-01T10:00:00Z","gift":1}`:             "gift",
		`{"at":"2026-12-01T10:00:00Z","gift":null}`:          "gift",
		`{"at":"2026-12-01T10:00:00Z","gift":"true"}`:        "gift",
		`{"at":"2026-12-01T10:00:00Z","gift":1,"gift":true}`: "gift",
	} {
		var at time.Time
		var gift bool
		field, err := Object([]byte(body), map[string]any{"at": &at, "gift": Optional(&gift)})
		if field != want || (err == nil) != (want == "") {
			t.Errorf("%s: field %q, %v; want %q", body, field, err, want)
		}
		if err == nil && (!at.Equal(time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)) || gift != strings.Contains(body, "true")) {
			t.Errorf("%s: at %v, gift %v", body, at, gift)
		}
	}
}

// FuzzObject holds that it neither panics nor refuses without naming a field.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{"id":"a","n":1}`, `{"id":"a","n":1,"gift":true}`, `{"ID":"a"}`, `{"id":"a","id":"b","n":2}`, `{`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var id string
		var n int64
		var gift bool
		field, err := Object(body, map[string]any{"id": &id, "n": &n, "gift": Optional(&gift)})
		if (err == nil) != (field == "") {
			t.Errorf("%q: field %q, error %v", body, field, err)
		}
	})
}
