package httpapi

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/valyala/fasthttp"
	"sluice/shared/openapitest"
	"sluice/shared/sale"
)

func FuzzCheckEmptyObject(f *testing.F) {
	for _, seed := range []string{
		"{}", " {\n}\t", "", "null", "[]", `{"quantity":1}`, `{"a":1,"a":2}`, `{"":1}`, "\ufeff{}", "{\x00}", "{}\x00", "{}{}", "{,}", "{1:2}", "{",
		"{\"\xff\":1}", `{"a":` + strings.Repeat("[", 1000), strings.Repeat("[", 1000), `{"` + strings.Repeat("k", 100) + `":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var object map[string]json.RawMessage
		empty := json.Unmarshal(body, &object) == nil && object != nil && len(object) == 0
		field, err := checkEmptyObject(body)
		if (err == nil) != empty {
			t.Fatalf("%q: %v", body, err)
		}
		if err != nil && (field == "" || !utf8.ValidString(field) || utf8.RuneCountInString(field) > maxFieldName+1) {
			t.Errorf("%q: field %q", body, field)
		}
	})
}

// keyPattern is what the document says of the Idempotency-Key header.
func keyPattern(t testing.TB) *regexp.Regexp {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(doc.Components.Parameters["IdempotencyKey"].Value.Schema.Value.Pattern)
}

func FuzzIdempotencyKey_IsAsDescribed(f *testing.F) {
	for _, seed := range []string{
		"", "k", `"k"`, `"`, `""`, `"""`, `"k`, `k"`, `k"k`, " ", `" "`, "k\tk", "\x7f", "\x80", "ключ", "k\n", `\"`,
		strings.Repeat("k", 64), strings.Repeat("k", 65), `"` + strings.Repeat("k", 64) + `"`, `"` + strings.Repeat("k", 65) + `"`, `"` + strings.Repeat("k", 63), `"` + strings.Repeat("k", 64),
	} {
		f.Add(seed)
	}
	described := keyPattern(f)
	f.Fuzz(func(t *testing.T, header string) {
		key, err := sale.ParseIdempotencyKey(header)
		if (err == nil) != described.MatchString(header) {
			t.Fatalf("%q is described as %v, parsed: %v", header, described.MatchString(header), err)
		}
		if err != nil {
			return
		}
		if quoted, err := sale.ParseIdempotencyKey(`"` + key + `"`); err != nil || quoted != key {
			t.Errorf("%q is the key %q, quoted %q, %v", header, key, quoted, err)
		}
	})
}

func FuzzHandle_AnswersAsDescribed(f *testing.F) {
	for _, seed := range [][4]string{
		{"POST", "/v1/sales/phone/orders", "k", "{}"}, {"GET", "/v1/sales", "", ""}, {"GET", "/v1/sales/phone?x=1", "", ""}, {"HEAD", "/openapi.yaml", "", ""},
		{"POST", "/v1/sales/none/orders", "", `{"a":1}`}, {"POST", "/v1/sales/phone/orders", `""`, ""}, {"PUT", "/v1/tickets/x", "", ""}, {"GET", "/v1/tickets/x?wait=1", "", ""},
		{"GET", "/v1/sales/phone/tickets/me", "", ""}, {"GET", "/v1//sales", "", ""}, {"GET", "/v1/sales/%70hone", "", ""}, {"GET", "/v1/x/../sales", "", ""}, {"GET", "/v1/tickets/%", "", ""}, {"OPTIONS", "/", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	described, err := openapitest.Load("openapi.yaml")
	if err != nil {
		f.Fatal(err)
	}
	var s stores
	api := soldOutAPI(&s)
	f.Fuzz(func(t *testing.T, method, target, key, body string) {
		control := strings.ContainsFunc(target, func(r rune) bool { return r < ' ' || r == 0x7f })
		if !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") || strings.Contains(target, "#") || control {
			return // no path, or refused by the server
		}
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod(method)
		ctx.Request.SetRequestURI(target)
		ctx.Request.Header.Set("Idempotency-Key", key)
		ctx.Request.SetBodyString(body)
		api.Handle(&ctx)
		e := openapitest.Exchange{Method: string(ctx.Method()), Target: target, Status: ctx.Response.StatusCode(), Header: http.Header{}}
		if !ctx.IsHead() { // the server leaves it out
			e.Body = ctx.Response.Body()
		}
		for name, value := range ctx.Response.Header.All() {
			e.Header.Add(string(name), string(value))
		}
		if err := described.Check(e); err != nil {
			t.Error(err)
		}
	})
}
