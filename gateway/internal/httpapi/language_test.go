package httpapi

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"sluice/gateway/internal/language"
	"sluice/shared/sale"
	"sluice/shared/strictjson"
)

func TestAttempt_RefusesInTheLanguageAskedFor(t *testing.T) {
	t.Parallel()
	var s stores
	api := soldOutAPI(&s)
	ctx := attemptRequest()
	ctx.Request.Header.Set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")
	api.Handle(ctx)
	const want = `{"type":"/problems/sold-out","title":"已售罄","status":409,"detail":"已全部抢光。如果您之前参与过抢购，可通过 my_tickets 查看结果。","may_return":true,"my_tickets":"/v1/sales/phone/tickets/me"}`
	if got := string(ctx.Response.Body()); got != want {
		t.Errorf("body %s", got)
	}
	expectLanguage(t, ctx, "zh")
	ctx = attemptRequest()
	api.Handle(ctx)
	expectLanguage(t, ctx, "en")
	if n := s.calls.Load(); n != 0 {
		t.Errorf("%d calls of stores or token checks", n)
	}
}

func expectLanguage(t *testing.T, ctx *fasthttp.RequestCtx, want string) {
	t.Helper()
	if got := string(ctx.Response.Header.Peek("Content-Language")); got != want {
		t.Errorf("Content-Language %q, want %q", got, want)
	}
	if got := string(ctx.Response.Header.Peek("Vary")); got != "Accept-Language" {
		t.Errorf("Vary %q", got)
	}
}

// Not parallel: AllocsPerRun counts the whole process.
func TestAttempt_InChineseAllocatesAtMostTwice(t *testing.T) {
	var s stores
	api := soldOutAPI(&s)
	ctx := attemptRequest()
	ctx.Request.Header.Add("Accept-Language", "zh-CN,zh;q=0.9")
	ctx.Request.Header.Add("Accept-Language", "en;q=0.8")
	if n := testing.AllocsPerRun(1000, func() { api.Handle(ctx) }); n > 2 {
		t.Errorf("%v heap allocations", n)
	}
	expectLanguage(t, ctx, "zh")
}

// A client acts on members, which must be the same whatever it speaks.
func TestProblem_OnlyTitleAndDetailDependOnTheLanguage(t *testing.T) {
	t.Parallel()
	may := true
	p := newProblem(kindSoldOut, detailUnknownField, "quantity")
	p.members = members{Field: "quantity", Reason: "r", MayReturn: &may, OpensAt: time.Unix(0, 0).UTC(), MyTickets: "/m", Ticket: &ticketBody{Ticket: "t"}}
	var en, zh map[string]any
	for l, into := range map[language.Language]*map[string]any{language.English: &en, language.Chinese: &zh} {
		if err := json.Unmarshal(p.in(l), into); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range en {
		same := encodedAlike(value, zh[name])
		if same == (name == "title" || name == "detail") {
			t.Errorf("%s: %v and %v", name, value, zh[name])
		}
	}
	if len(en) != len(zh) || !strings.Contains(zh["detail"].(string), `"quantity"`) {
		t.Errorf("%v and %v", en, zh)
	}
}

func encodedAlike(a, b any) bool { return string(encode(a)) == string(encode(b)) }

// What the checks of shared packages say is what the English words say.
func TestWords_OfChecksAreThoseOfTheirErrors(t *testing.T) {
	t.Parallel()
	const why = "an attempt is for one unit and has no fields"
	for _, body := range []string{`{"a":1}`, `{"":1}`, "[]", "{", "{} {}", `{"` + strings.Repeat("x", 100) + `":1}`} {
		field, err := strictjson.EmptyObject([]byte(body), why)
		p := notEmpty(field, err)
		if got := say(language.English, p.detail, p.args); err == nil || got != err.Error() || p.Field != field {
			t.Errorf("%s: %q of %s, the check says %v", body, got, p.Field, err)
		}
	}
	for _, key := range []string{"", strings.Repeat("k", 65), "ключ"} {
		_, err := sale.ParseIdempotencyKey(key)
		p := noKey(err)
		if got := say(language.English, p.detail, p.args); err == nil || got != err.Error() {
			t.Errorf("%q: %q, the check says %v", key, got, err)
		}
	}
	if p := noKey(errors.New("another")); p.detail != detailKeyCharacter {
		t.Errorf("detail %d", p.detail)
	}
}
