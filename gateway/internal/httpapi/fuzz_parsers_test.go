package httpapi

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// FuzzIfNoneMatch_FindsATagInAnyList compares with a reading of the list by its grammar.
func FuzzIfNoneMatch_FindsATagInAnyList(f *testing.F) {
	const tag = `"queued-18f-3"`
	for _, seed := range []string{"", "*", tag, "W/" + tag, `"a", ` + tag, `"a",W/"b" , ` + tag + ",", `"queued-18f-33"`, "queued-18f-3", `"a" "b"`, `"`, `W/`, "*, " + tag} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, known string) {
		got := matches(known, tag)
		if tags, wellFormed := tagList(known); wellFormed && got != (slices.Contains(tags, tag) || known == "*") {
			t.Errorf("%q has %q: %v", known, tag, got)
		}
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.Set(fasthttp.HeaderIfNoneMatch, known)
		writeCached(&ctx, tag, "no-cache", "application/json", []byte("{}"))
		if status := ctx.Response.StatusCode(); status != fasthttp.StatusOK && (status != fasthttp.StatusNotModified || len(ctx.Response.Body()) > 0) {
			t.Errorf("%q: status %d with %q", known, status, ctx.Response.Body())
		}
	})
}

// tagList reads a list of entity tags (RFC 9110, section 8.8.3), weak ones too.
func tagList(text string) (tags []string, ok bool) {
	for text = strings.Trim(text, " \t,"); text != ""; text = strings.TrimLeft(text, " \t,") {
		text = strings.TrimPrefix(text, "W/")
		if !strings.HasPrefix(text, `"`) {
			return nil, false
		}
		end := strings.IndexByte(text[1:], '"')
		if end < 0 || strings.ContainsAny(text[1:end+1], " \t,\x7f") || strings.ContainsFunc(text[1:end+1], func(r rune) bool { return r <= ' ' }) {
			return nil, false // blanks and commas inside belong to no tag of ours
		}
		tags = append(tags, text[:end+2])
		text = text[end+2:]
		if text != "" && !strings.ContainsRune(" \t,", rune(text[0])) {
			return nil, false
		}
	}
	return tags, true
}

// FuzzWait_IsAWholeNumberOfSecondsUpTo25 sends a query as it is.
func FuzzWait_IsAWholeNumberOfSecondsUpTo25(f *testing.F) {
	for _, seed := range []string{"", "wait", "wait=", "wait=0", "wait=25", "wait=26", "wait=+1", "wait=-1", "wait=1&wait=1", "wait=%31", "wait=1%00", "wait=01", "x=1&wait=3", "wait=1e1", "wait=99999999999999999999", "&&&=", "wait=1;wait=2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		var ctx fasthttp.RequestCtx
		ctx.Request.SetRequestURI("/v1/tickets/x")
		ctx.URI().SetQueryString(query)
		wait, bad := readWait(&ctx)
		values := ctx.QueryArgs().PeekMulti("wait")
		if bad != nil {
			if len(values) == 0 && !ctx.QueryArgs().Has("wait") {
				t.Errorf("%q is refused and asks for nothing", query)
			}
			return
		}
		if wait < 0 || wait > maxWait*time.Second || wait%time.Second != 0 || len(values) > 1 {
			t.Errorf("%q waits %v", query, wait)
		}
		if len(values) == 1 {
			if seconds, err := strconv.Atoi(string(values[0])); err != nil || time.Duration(seconds)*time.Second != wait {
				t.Errorf("%q waits %v", query, wait)
			}
		}
	})
}
