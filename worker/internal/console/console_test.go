package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/worker/internal/console"
)

// client is a browser without a page: it has cookies and follows no redirect.
func client(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar, Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func do(t *testing.T, c *http.Client, method, target string, form url.Values, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func signedIn(t *testing.T, base string) *http.Client {
	t.Helper()
	c := client(t)
	res, _ := do(t, c, "POST", base+"/console/login", url.Values{"token": {token}})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/console" {
		t.Fatalf("signing in: %s", res.Status)
	}
	return c
}

func TestSession_IsACookieThatOnlyTheConsoleGets(t *testing.T) {
	t.Parallel()
	w := newNight(1).serve(t)
	for proto, secure := range map[string]bool{"http": false, "https": true} {
		res, _ := do(t, client(t), "POST", w.url()+"/console/login", url.Values{"token": {token}}, "X-Forwarded-Proto", proto)
		cookies := res.Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%d cookies", len(cookies))
		}
		c := cookies[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/console" || c.Secure != secure || c.MaxAge != 12*3600 || strings.Contains(c.Value, token) {
			t.Errorf("over %s the cookie is %s", proto, c.Raw)
		}
	}
}

func TestSession_IsNeededForWhatTheConsoleShows(t *testing.T) {
	t.Parallel()
	w := newNight(1).serve(t)
	out, in := client(t), signedIn(t, w.url())
	for path, status := range map[string][2]int{
		"/console/history?sale=x": {401, 404}, "/console/runbook": {200, 200}, "/console": {200, 200}, "/console/none": {404, 404},
		"/console/assets/app.js": {200, 200}, "/console/assets/uplot/README.md": {404, 404},
	} {
		for i, c := range []*http.Client{out, in} {
			res, body := do(t, c, "GET", w.url()+path, nil)
			if res.StatusCode != status[i] {
				t.Errorf("%s, signed in %v: %s", path, i == 1, res.Status)
			}
			if asks := strings.Contains(body, `name="token"`); asks != (i == 0 && status[0] == 200 && !strings.Contains(path, "assets")) {
				t.Errorf("%s, signed in %v: asks for the token: %v", path, i == 1, asks)
			}
		}
	}
	if res, _ := do(t, out, "GET", w.url()+"/console/events", nil); res.StatusCode != 401 {
		t.Errorf("events without a session: %s", res.Status)
	}
	if _, body := do(t, out, "GET", w.url()+"/console/session", nil, "Authorization", "Bearer "+token); body != `{"signed_in":true}` {
		t.Errorf("the token itself is refused: %s", body)
	}
}

func TestSession_EndsWhenItIsEndedAndHoldsElsewhereUntilThen(t *testing.T) {
	t.Parallel()
	w, other := newNight(1).serve(t), newNight(1).serve(t)
	c := signedIn(t, w.url())
	u, err := url.Parse(w.url() + "/console")
	if err != nil {
		t.Fatal(err)
	}
	cookie := c.Jar.Cookies(u)[0]
	session := func(base, value string) string {
		_, body := do(t, client(t), "GET", base+"/console/session", nil, "Cookie", cookie.Name+"="+value)
		return body
	}
	forged := []byte(cookie.Value)
	forged[20] ^= 1
	for value, want := range map[string]string{cookie.Value: `{"signed_in":true}`, string(forged): `{"signed_in":false}`, "": `{"signed_in":false}`, cookie.Value + "A": `{"signed_in":false}`} {
		for _, base := range []string{w.url(), other.url()} {
			if got := session(base, value); got != want {
				t.Errorf("%q: %s, want %s", value, got, want)
			}
		}
	}
	if res, _ := do(t, c, "POST", w.url()+"/console/logout", nil, "Sec-Fetch-Site", "cross-site"); res.StatusCode != 403 {
		t.Errorf("another site may sign people out: %s", res.Status)
	}
	do(t, c, "POST", w.url()+"/console/logout", nil)
	if got := session(w.url(), cookie.Value); got != `{"signed_in":false}` || len(c.Jar.Cookies(u)) > 0 {
		t.Errorf("after signing out: %s, %v", got, c.Jar.Cookies(u))
	}
}

func TestSignIn_WrongTokensAreFewAMinute(t *testing.T) {
	t.Parallel()
	w := newNight(1).serve(t)
	var got []int
	for range 6 {
		res, _ := do(t, client(t), "POST", w.url()+"/console/login", url.Values{"token": {"wrong"}})
		got = append(got, res.StatusCode)
	}
	if got[0] != 401 || got[4] != 401 || got[5] != 429 {
		t.Errorf("answers %v", got)
	}
	if res, _ := do(t, client(t), "POST", w.url()+"/console/login", url.Values{"token": {token}}); res.StatusCode != 429 || res.Header.Get("Retry-After") != "10" {
		t.Errorf("the right one among too many: %s", res.Status)
	}
}

func TestConsole_WithoutATokenSaysHowToSwitchItOn(t *testing.T) {
	t.Parallel()
	c, err := console.New("", nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"GET /console", "POST /console/login", "GET /console/events"} {
		method, path, _ := strings.Cut(call, " ")
		recorded := httptest.NewRecorder()
		c.ServeHTTP(recorded, httptest.NewRequest(method, path, strings.NewReader("token=")))
		if body := recorded.Body.String(); recorded.Code != 503 || !strings.Contains(body, "-admin-token") {
			t.Errorf("%s: %d %s", call, recorded.Code, body)
		}
	}
	if recorded := httptest.NewRecorder(); true {
		c.ServeHTTP(recorded, httptest.NewRequest("GET", "/console", nil))
		for header, part := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'", "Referrer-Policy": "same-origin", "X-Frame-Options": "DENY",
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
		} {
			if got := recorded.Header().Get(header); !strings.Contains(got, part) {
				t.Errorf("%s is %q", header, got)
			}
		}
	}
}

func TestConsole_SaysThatTheWorkerStarts(t *testing.T) {
	t.Parallel()
	c, err := console.New(token, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	recorded, request := httptest.NewRecorder(), httptest.NewRequest("GET", "/console/events", nil)
	request.Header.Set("Authorization", "Bearer "+token)
	c.ServeHTTP(recorded, request)
	if recorded.Code != 503 || recorded.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", recorded.Code, recorded.Body)
	}
}

// told is what a stream says of sales.
type told struct {
	Full    bool
	Sales   []struct{ ID string }
	Gone    []string
	History *struct{ At []int64 }
}

// listen opens a stream; next reads a frame, false at its end.
func (w *worker) listen() (next func() (told, bool)) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), "GET", w.url()+"/console/events", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	var res *http.Response
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if res, err = http.DefaultClient.Do(req); err != nil {
			w.t.Fatal(err)
		}
		if res.StatusCode == http.StatusOK || time.Now().After(deadline) {
			break
		}
		_ = res.Body.Close()
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("%s, %s", res.Status, res.Header)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	return func() (f told, ok bool) {
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &f); err != nil {
					w.t.Fatal(err)
				}
				return f, true
			}
		}
		return f, false
	}
}

func TestStream_BeginsWithEverythingAndEndsWithTheWorker(t *testing.T) {
	t.Parallel()
	f := newNight(20)
	w := f.serve(t)
	next := w.listen()
	first, ok := next()
	if !ok || !first.Full || len(first.Sales) != 20 || first.History == nil || len(first.History.At) == 0 {
		t.Fatalf("first %+v, %v", first, ok)
	}
	f.shrink(19)
	for {
		later, ok := next()
		if !ok || later.Full || later.History != nil {
			t.Fatalf("later %+v, %v", later, ok)
		}
		if len(later.Gone) > 0 {
			if later.Gone[0] != "sale-019" {
				t.Errorf("gone %v", later.Gone)
			}
			break
		}
	}
	w.stop()
	for {
		if _, ok := next(); !ok {
			return
		}
	}
}

func TestStream_LastsLongerThanTheListenerReads(t *testing.T) {
	t.Parallel()
	f := newNight(1)
	w := f.serve(t)
	next := w.listen()
	for begun := time.Now(); time.Since(begun) < 3*readTimeout; {
		if _, ok := next(); !ok {
			t.Fatalf("the stream ended after %v", time.Since(begun))
		}
	}
}

func TestStream_IsOneOfNotTooMany(t *testing.T) {
	t.Parallel()
	w := newNight(1).serve(t)
	for range 32 {
		w.listen()
	}
	res, _ := do(t, http.DefaultClient, "GET", w.url()+"/console/events", nil, "Authorization", "Bearer "+token)
	if res.StatusCode != 503 {
		t.Errorf("one more: %s", res.Status)
	}
}

func TestHistory_IsOfOneSale(t *testing.T) {
	t.Parallel()
	w := newNight(3).serve(t)
	w.listen()
	res, body := do(t, signedIn(t, w.url()), "GET", w.url()+"/console/history?sale=sale-001", nil)
	var got struct{ At, Age, Waiting []*float64 }
	if err := json.Unmarshal([]byte(body), &got); err != nil || res.StatusCode != 200 || len(got.At) == 0 || len(got.Waiting) != len(got.At) || *got.Waiting[0] != 9 {
		t.Errorf("%s %s", res.Status, body)
	}
}

// Nobody knows what Redis and Postgres have, yet: the page can be opened and says so.
func TestRun_EndsWhileNothingCanBeRead(t *testing.T) {
	t.Parallel()
	c, err := console.New(token, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	f := newNight(3)
	f.mute = true
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	c.Run(ctx, console.Sources{Sales: f, Redis: f})
}
