package httpapi

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/valyala/fasthttp"
	"sluice/shared/openapitest"
	"sluice/shared/sale"
)

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
		{"POST", "/v1/sales/none/orders", "", `{"a":1}`}, {"POST", "/v1/sales/phone/orders", `""`, ""}, {"PUT", "/v1/tickets/x", "", ""}, {"GET", "/v1/tickets/x?wait=1", "", ""}, {"GET", "/v1/tickets/x/events", "", ""},
		{"GET", "/v1/sales/phone/tickets/me", "", ""}, {"GET", "/v1//sales", "", ""}, {"GET", "/v1/sales/%70hone", "", ""}, {"GET", "/v1/sales#x", "", ""}, {"GET", "/v1/x/../sales", "", ""}, {"GET", "/v1/tickets/%", "", ""}, {"OPTIONS", "/", "", ""},
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
		if !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") || control {
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
