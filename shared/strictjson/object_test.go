package strictjson

import (
	"strings"
	"testing"
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
