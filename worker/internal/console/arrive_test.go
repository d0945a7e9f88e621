package console_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sluice/shared/browsertest"
)

// Without TLS, and not on loopback, browsers say less of where a form comes from.
func TestSignIn_FromAfarWithoutTLS(t *testing.T) {
	t.Parallel()
	w := newNight(1).serve(t)
	_, port, err := net.SplitHostPort(w.address)
	if err != nil {
		t.Fatal(err)
	}
	b := browsertest.Open(t, browsertest.Phone)
	signIn(b, "http://"+net.JoinHostPort(browsertest.Afar, port))
	b.Do(chromedp.Click("form[action='/console/logout'] button", chromedp.ByQuery))
	b.Await("the form is back", `document.getElementById('token')`)
	b.WantQuiet("http://" + net.JoinHostPort(browsertest.Afar, port))
}

// A chat or a mail is another site: the cookie does not come with the first request.
func TestPage_LinkToTheRunbookLeadsThere(t *testing.T) {
	t.Parallel()
	w := newNight(1).serve(t)
	const there = `location.pathname === '/console/runbook' && document.querySelector('h2:target').textContent === 'DeadLetters'`
	chat := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(rw, `<!doctype html><a href="%s/console/runbook#deadletters">DeadLetters</a>`, w.url())
	}))
	t.Cleanup(chat.Close)
	followed := []chromedp.Action{chromedp.Navigate(strings.Replace(chat.URL, "127.0.0.1", browsertest.Another, 1)), chromedp.Click("a", chromedp.ByQuery)}
	b := browsertest.Open(t, browsertest.Phone)
	b.Do(followed...)
	// Each step begins once the page that it is about is there, and not the one before it.
	b.Await("the form", `location.pathname === '/console/runbook' && document.readyState === 'complete' && document.getElementById('token')`)
	b.Do(chromedp.SendKeys("#token", "wrong"+kb.Enter, chromedp.ByQuery))
	b.Await("a wrong token", `document.readyState === 'complete' && document.getElementById('refused')`)
	b.Do(chromedp.SendKeys("#token", token+kb.Enter, chromedp.ByQuery))
	b.Await("the runbook opens after signing in", there)
	b.Do(followed...)
	b.Await("and again, without", there)
}

func TestSignIn_LeadsNowhereElse(t *testing.T) {
	t.Parallel()
	w := newNight(1).serve(t)
	for to, want := range map[string]string{
		"": "/console", "/console": "/console", "/console/runbook": "/console/runbook", "/console/login": "/console",
		"//evil.test/console": "/console", "https://evil.test": "/console", "/admin/v1/sales": "/console",
	} {
		res, _ := do(t, client(t), "POST", w.url()+"/console/login", url.Values{"token": {token}, "to": {to}})
		if got := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || got != want {
			t.Errorf("to %q: %s to %q, want %q", to, res.Status, got, want)
		}
	}
	for _, path := range []string{"/console/", "/console/login"} { // of a tab that was restored, or typed
		if res, _ := do(t, client(t), "GET", w.url()+path, nil); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/console" {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// together is a body that is read once all others are about to be.
type together struct {
	*strings.Reader
	all  *sync.WaitGroup
	once sync.Once
}

func (b *together) Read(p []byte) (int, error) {
	b.once.Do(b.all.Done)
	b.all.Wait()
	return b.Reader.Read(p)
}

func TestSignIn_WrongTokensAreFewHoweverManyComeAtOnce(t *testing.T) {
	t.Parallel()
	w := newNight(1).serve(t)
	const tries = 20
	var reading, asking sync.WaitGroup
	var refused atomic.Int64
	reading.Add(tries)
	// The server asks for a body once its handler reads it.
	via := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{ExpectContinueTimeout: 30 * time.Second}}
	t.Cleanup(via.CloseIdleConnections)
	for range tries {
		asking.Go(func() {
			form := url.Values{"token": {"wrong"}}.Encode()
			req, err := http.NewRequestWithContext(t.Context(), "POST", w.url()+"/console/login", &together{Reader: strings.NewReader(form), all: &reading})
			if err != nil {
				t.Error(err)
				return
			}
			req.ContentLength = int64(len(form))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Expect", "100-continue")
			res, err := via.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = res.Body.Close()
			if res.StatusCode == http.StatusUnauthorized {
				refused.Add(1)
			}
		})
	}
	asking.Wait()
	if n := refused.Load(); n > 5 {
		t.Errorf("%d tokens were looked at", n)
	}
}

func TestPage_SaysThatTooManyAreOpen(t *testing.T) {
	t.Parallel()
	w := newNight(1).serve(t)
	for range 32 {
		w.listen()
	}
	b := browsertest.Open(t, browsertest.Phone)
	b.Do(chromedp.Navigate(w.url()+"/console"), chromedp.SendKeys("#token", token+kb.Enter, chromedp.ByQuery))
	b.Await("it says so", `document.getElementById('link-text').textContent.startsWith('Too many pages are open')`)
}

// dying is an answer whose connection stays open when nothing arrives any more.
type dying struct {
	http.ResponseWriter
	dead *atomic.Bool
}

func (d dying) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d dying) Write(p []byte) (int, error) {
	if d.dead.Load() {
		return len(p), nil
	}
	return d.ResponseWriter.Write(p)
}

// A phone that changed its network keeps connections that nobody answers on.
func TestPage_ComesBackFromAConnectionThatIsDead(t *testing.T) {
	t.Parallel()
	var dead atomic.Bool
	var streams atomic.Int64
	w := &worker{t: t, night: newNight(1), address: "127.0.0.1:0", around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/console/events" && streams.Add(1) == 1 {
				rw = dying{rw, &dead}
			}
			next.ServeHTTP(rw, r)
		})
	}}
	w.start()
	t.Cleanup(func() { w.stop() })
	b := browsertest.Open(t, browsertest.Phone)
	signIn(b, w.url())
	dead.Store(true)
	b.Await("it says so", `document.getElementById('link-text').textContent.startsWith('Connection lost since ')`)
	b.Await("it is live again", `document.documentElement.dataset.link === 'live'`)
	if n := streams.Load(); n != 2 {
		t.Errorf("%d streams", n)
	}
}
