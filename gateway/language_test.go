package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

const chineseBrowser = "zh-CN,zh;q=0.9,en;q=0.8"

func speaks(accept string) func(*http.Request) { return header("Accept-Language", accept) }

func expectLanguage(t *testing.T, what string, got answer, want string) {
	t.Helper()
	if language, vary := got.header.Get("Content-Language"), got.header.Get("Vary"); language != want || vary != "Accept-Language" {
		t.Errorf("%s: Content-Language %q, want %q; Vary %q", what, language, want, vary)
	}
}

func TestSales_HaveTheTitleOfTheLanguageAskedFor(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	both := s.sell(t, 20, func(s *sale.Sale) { s.Titles = map[string]string{"zh": "半价手机"} })
	one := s.sell(t, 20)
	g := s.startReady(t)
	g.untilWarm(both.ID)
	g.untilWarm(one.ID)
	for accept, want := range map[string]struct{ language, title string }{
		"": {"en", "Phone"}, "en": {"en", "Phone"}, "fr": {"en", "Phone"}, "garbage;;q=": {"en", "Phone"},
		"zh": {"zh", "半价手机"}, chineseBrowser: {"zh", "半价手机"}, "fr, zh_TW;q=0.1": {"zh", "半价手机"},
	} {
		got := g.do(http.MethodGet, "/v1/sales/"+both.ID, "", speaks(accept))
		expectLanguage(t, accept, got, want.language)
		if got.text("title") != want.title {
			t.Errorf("%s: title %q, want %q", accept, got.text("title"), want.title)
		}
		got = g.do(http.MethodGet, "/v1/sales/"+one.ID, "", speaks(accept))
		expectLanguage(t, accept, got, want.language)
		if got.text("title") != "Phone" {
			t.Errorf("%s: one title for all: %q", accept, got.text("title"))
		}
		list := g.do(http.MethodGet, "/v1/sales", "", speaks(accept))
		expectLanguage(t, accept, list, want.language)
		if !strings.Contains(list.raw, `"id":"`+both.ID+`","kind":"goods","title":"`+want.title+`"`) {
			t.Errorf("%s: list %s", accept, list.raw)
		}
	}
}

// What a cache has of one language is not what it has of the other, also where both
// read the same.
func TestSales_HaveAnETagForEachLanguage(t *testing.T) {
	t.Parallel()
	s := connectOwnStores(t) // no sale of another test may come in between
	e := s.sell(t, 20)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	for _, path := range []string{"/v1/sales", "/v1/sales/" + e.ID} {
		en, zh := g.do(http.MethodGet, path, "", speaks("en")), g.do(http.MethodGet, path, "", speaks("zh"))
		known := en.header.Get("ETag")
		if known == zh.header.Get("ETag") {
			t.Errorf("%s: both have the ETag %s", path, known)
		}
		same := g.do(http.MethodGet, path, "", speaks("en-GB"), header("If-None-Match", known))
		if same.status != http.StatusNotModified || same.header.Get("Vary") != "Accept-Language" {
			t.Errorf("%s in the same language: %d %v", path, same.status, same.header)
		}
		if other := g.do(http.MethodGet, path, "", speaks("zh"), header("If-None-Match", known)); other.status != http.StatusOK {
			t.Errorf("%s in another language: %d", path, other.status)
		}
	}
}

func TestSales_TakeOverANewTitle(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	e := s.sell(t, 20)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	e.Rev, e.Titles = 2, map[string]string{"zh": "手机", "fr": "Portable"} // a later version may know more
	s.announce(t, e)
	g.until("renamed", func() bool {
		return g.do(http.MethodGet, "/v1/sales/"+e.ID, "", speaks("zh")).text("title") == "手机"
	})
	if got := g.do(http.MethodGet, "/v1/sales/"+e.ID, "", speaks("fr")); got.text("title") != "Phone" {
		t.Errorf("title %q", got.text("title"))
	}
}

func TestProblems_AreToldInChinese(t *testing.T) {
	t.Parallel()
	s := sharedStores(t)
	open := s.sell(t, 20)
	gated := s.sell(t, 20, func(s *sale.Sale) { s.Eligibility.MinPaidOrders = 1 })
	later := s.sell(t, 20, func(s *sale.Sale) { s.OpensAt = s.ClosesAt.Add(-time.Minute) })
	g := s.startReady(t)
	for _, e := range []sale.Entry{open, gated, later} {
		g.untilWarm(e.ID)
	}
	han := regexp.MustCompile(`\p{Han}`)
	for name, c := range map[string]struct {
		method, path, user string
		change             func(*http.Request)
		status             int
	}{
		"not-found":          {http.MethodGet, "/v1/other", "", nil, 404},
		"method-not-allowed": {http.MethodPut, "/v1/sales", "", nil, 405},
		"no-such-sale":       {http.MethodGet, "/v1/sales/nothing", "", nil, 404},
		"no-such-ticket":     {http.MethodGet, "/v1/tickets/nothing", "ada", nil, 404},
		"unauthenticated":    {http.MethodPost, "/v1/sales/" + open.ID + "/orders", "", nil, 401},
		"not-eligible":       {http.MethodPost, "/v1/sales/" + gated.ID + "/orders", "ada", nil, 403},
		"not-open":           {http.MethodPost, "/v1/sales/" + later.ID + "/orders", "ada", nil, 409},
		"invalid-request":    {http.MethodPost, "/v1/sales/" + open.ID + "/orders", "ada", header("Idempotency-Key", strings.Repeat("k", 65)), 400},
	} {
		change := []func(*http.Request){speaks(chineseBrowser)}
		if c.change != nil {
			change = append(change, c.change)
		}
		got := g.do(c.method, c.path, c.user, change...)
		g.expect(got, c.status, name)
		expectLanguage(t, name, got, "zh")
		if !han.MatchString(got.text("title")) || !han.MatchString(got.text("detail")) {
			t.Errorf("%s: %s", name, got.raw)
		}
	}
	large := g.raw(http.MethodPost, "/v1/sales/"+open.ID+"/orders",
		"POST /v1/sales/"+open.ID+"/orders HTTP/1.1\r\nHost: x\r\nAccept-Language: zh\r\nContent-Length: 8193\r\n\r\n")
	g.expect(large, http.StatusRequestEntityTooLarge, "too-large")
	expectLanguage(t, "too-large", large, "zh")
	// Nothing can be read of what is not HTTP.
	malformed := g.raw(http.MethodPost, "", "hello\r\n\r\n")
	g.expect(malformed, http.StatusBadRequest, "invalid-request")
	expectLanguage(t, "malformed", malformed, "en")
}
