package openapitest

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func load(t *testing.T) *Document {
	t.Helper()
	d, err := Load("testdata/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// exchange has its headers as "Name: value" lines.
func exchange(method, target string, status int, body string, headers ...string) Exchange {
	e := Exchange{Method: method, Target: target, Status: status, Header: http.Header{"Content-Length": {"1"}}, Body: []byte(body)}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		e.Header.Add(name, value)
	}
	return e
}

const (
	isJSON    = "Content-Type: application/json"
	isProblem = "Content-Type: application/problem+json"
	isText    = "Content-Type: text/plain"
	tag       = `ETag: "a"`
	item      = `{"id":"a","at":"2026-12-01T10:00:00Z","parts":{"n":1}}`
	isEvents  = "Content-Type: text/event-stream"
	events    = "retry: 5\n\nid: a\nevent: item\ndata: " + item + "\n\n: alive\n\n"
	soldOut   = `{"type":"/problems/sold-out","status":409}`
)

func everything() []Exchange {
	return []Exchange{
		exchange("GET", "/items/a?x=1", 200, item, isJSON, tag),
		exchange("GET", "/items/a", 304, "", tag),
		exchange("GET", "/items/a", 409, soldOut, isProblem, "Retry-After: 2"),
		exchange("GET", "/items/a", 409, `{"type":"/problems/not-eligible","status":403,"reason":"young"}`, isProblem),
		exchange("GET", "/items/a", 409, `{"type":"/problems/not-eligible","status":403,"reason":"poor"}`, isProblem),
		exchange("PUT", "/items/b", 200, item, isJSON, tag),
		exchange("GET", "/items/a/events", 200, events, isEvents),
		exchange("GET", "/item", 404, "nothing", isText),
		exchange("DELETE", "/items/a", 405, "", "Allow: GET, HEAD, PUT"),
		exchange("", "", 400, "what", isText),
	}
}

func TestCheck_WhatIsDocumentedPassesAndIsSeen(t *testing.T) {
	t.Parallel()
	d := load(t)
	all := everything()
	for i, e := range all {
		if n := len(d.Missing()); n != len(all)-i {
			t.Errorf("%d are missing before %s %s %d", n, e.Method, e.Target, e.Status)
		}
		if err := d.Check(e); err != nil {
			t.Error(err)
		}
	}
	if missing := d.Missing(); missing != nil {
		t.Errorf("missing: %q", missing)
	}
	if code := d.Verdict(0, &strings.Builder{}); code != 0 {
		t.Error("a whole run fails")
	}
}

func TestCheck_HeadIsGetWithoutTheBody(t *testing.T) {
	t.Parallel()
	d := load(t)
	before := d.Missing()
	if err := d.Check(exchange("HEAD", "/items/a", 200, "", isJSON, tag)); err != nil {
		t.Error(err)
	}
	if !slices.Equal(before, d.Missing()) {
		t.Error("HEAD stands in for GET")
	}
	if err := d.Check(exchange("HEAD", "/items/a", 200, item, isJSON, tag)); err == nil {
		t.Error("HEAD may have a body")
	}
}

func TestCheck_RefusesWhatIsNotDocumented(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]Exchange{
		"status":                  exchange("GET", "/items/a", 500, "", isText),
		"status of the other":     exchange("PUT", "/items/a", 409, soldOut, isProblem),
		"content type":            exchange("GET", "/items/a", 200, item, isProblem, tag),
		"no content type":         exchange("GET", "/items/a", 200, item, tag),
		"header missing":          exchange("GET", "/items/a", 200, item, isJSON),
		"header twice":            exchange("GET", "/items/a", 200, item, isJSON, tag, tag),
		"header of another form":  exchange("GET", "/items/a", 200, item, isJSON, "ETag: a"),
		"header unknown":          exchange("GET", "/items/a", 200, item, isJSON, tag, "Location: /"),
		"header is no number":     exchange("GET", "/items/a", 409, soldOut, isProblem, "Retry-After: soon"),
		"header is too small":     exchange("GET", "/items/a", 409, soldOut, isProblem, "Retry-After: 0"),
		"member missing":          exchange("GET", "/items/a", 200, `{"id":"a","at":"2026-12-01T10:00:00Z"}`, isJSON, tag),
		"member unknown":          exchange("GET", "/items/a", 200, strings.Replace(item, `"id"`, `"new":1,"id"`, 1), isJSON, tag),
		"member unknown, nested":  exchange("GET", "/items/a", 200, strings.Replace(item, `"n"`, `"new":1,"n"`, 1), isJSON, tag),
		"member of another type":  exchange("GET", "/items/a", 200, strings.Replace(item, `"a"`, `1`, 1), isJSON, tag),
		"member of another case":  exchange("GET", "/items/a", 200, strings.Replace(item, `"id"`, `"ID"`, 1), isJSON, tag),
		"time that is none":       exchange("GET", "/items/a", 200, strings.Replace(item, `2026-12-01`, `2026-13-01`, 1), isJSON, tag),
		"trailing data":           exchange("GET", "/items/a", 200, item+item, isJSON, tag),
		"no body":                 exchange("GET", "/items/a", 200, "", isJSON, tag),
		"body of a 304":           exchange("GET", "/items/a", 304, item, tag),
		"problem type":            exchange("GET", "/items/a", 409, strings.Replace(soldOut, "sold-out", "sold", 1), isProblem),
		"member of another type ": exchange("GET", "/items/a", 409, `{"type":"/problems/sold-out","status":409,"reason":"poor"}`, isProblem),
		"value unknown":           exchange("GET", "/items/a", 409, `{"type":"/problems/not-eligible","status":403,"reason":"rich"}`, isProblem),
		"404 of a path it has":    exchange("GET", "/items/a", 404, "nothing", isText),
		"405 of a method it has":  exchange("PUT", "/items/a", 405, "", "Allow: GET, HEAD, PUT"),
		"405 of no path":          exchange("PUT", "/item", 405, "", "Allow: GET, HEAD, PUT"),
		"other methods":           exchange("DELETE", "/items/a", 405, "", "Allow: GET"),
		"events cut short":        exchange("GET", "/items/a/events", 200, events[:60], isEvents),
		"events with other data":  exchange("GET", "/items/a/events", 200, strings.Replace(events, `"a"`, `1`, 1), isEvents),
		"events without an id":    exchange("GET", "/items/a/events", 200, strings.Replace(events, "id: a\n", "", 1), isEvents),
		"events of another name":  exchange("GET", "/items/a/events", 200, strings.Replace(events, "event: item", "event: thing", 1), isEvents),
		"events without data":     exchange("GET", "/items/a/events", 200, "id: a\nevent: item\n\n", isEvents),
		"events with a line more": exchange("GET", "/items/a/events", 200, strings.Replace(events, "id: a\n", "id: a\nwhat\n", 1), isEvents),
		"200 of a doubled slash":  exchange("GET", "//items/a", 200, item, isJSON, tag),
		"200 of dots":             exchange("GET", "/x/../items/a", 200, item, isJSON, tag),
		"200 of an encoded path":  exchange("GET", "/items/%61", 200, item, isJSON, tag),
		"200 of a trailing slash": exchange("GET", "/items/a/", 200, item, isJSON, tag),
		"200 of no request":       exchange("GET", "", 200, item, isJSON, tag),
	} {
		d := load(t)
		before := d.Missing()
		if err := d.Check(e); err == nil {
			t.Errorf("%s: passes", name)
		}
		if !slices.Equal(before, d.Missing()) {
			t.Errorf("%s: counts as seen", name)
		}
	}
}

func TestVerdict_ListsWhatIsMissing(t *testing.T) {
	t.Parallel()
	d := load(t)
	for _, e := range everything()[1:] {
		if err := d.Check(e); err != nil {
			t.Error(err)
		}
	}
	if missing := d.Missing(); !slices.Equal(missing, []string{"GET /items/{id} 200 Item"}) {
		t.Errorf("missing: %q", missing)
	}
	var out strings.Builder
	if code := d.Verdict(1, &out); code != 1 || out.String() != "" {
		t.Errorf("of tests that failed: %d, %s", code, out.String())
	}
}

func TestLoad_RefusesWhatIsNoDocument(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("testdata/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for old, changed := range map[string]string{
		"openapi: 3.1.0":                              "openapi: 3.0.3",
		"title: A shop, ":                             "",
		"'404': NotFound":                             "'404': Nothing",
		"'400': Text}":                                "4xx: Text}",
		"example: {id: a, ":                           "example: {id: 1, ",
		"maxLength: 20":                               "maxLength: twenty",
		"x-events: {item: ":                           "x-events: {thing: ",
		`"parts":{"n":1}}`:                            `"parts":{"n":"1"}}`,
		"ETag: {$ref: '#/components/headers/ETag":     "ETag: {$ref: '#/components/headers/Tag",
		"schema: {$ref: '#/components/schemas/Item'}": "schema: {type: object}",
		"'304': {$ref: '#/components/responses/NotModified'}":         "'304': {description: The client has it.}",
		"Retry-After: {$ref: '#/components/headers/RetryAfter'}":      "Retry-After: {schema: {type: integer}}",
		"pattern: '^\"[a-z]+\"$'":                                     "pattern: '('",
		"- {name: id, in: path, required: true, schema: {type: strin": "- {name: di, in: path, required: true, schema: {type: strin",
	} {
		text := strings.Replace(string(good), old, changed, 1)
		if text == string(good) {
			t.Fatalf("%s is not in the document", old)
		}
		file := filepath.Join(t.TempDir(), "openapi.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(file); err == nil {
			t.Errorf("with %q it loads", changed)
		}
	}
}
