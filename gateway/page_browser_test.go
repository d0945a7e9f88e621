package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sluice/shared/browsertest"
	"sluice/shared/sale"
)

// card is the part of the page that is about a sale.
func card(e sale.Entry, inside string) string {
	return `document.querySelector('[data-sale="` + e.ID + `"] ` + inside + `')`
}

// visit opens the page, signed in when there is a user, and waits for the sale.
func visit(t *testing.T, b *browsertest.Tab, base, user string, e sale.Entry) {
	t.Helper()
	address := base + "/"
	if user != "" {
		address += "#token=" + token(t, user, sale.Claims{})
	}
	b.Do(chromedp.Navigate(address))
	b.Await("the sale is listed", card(e, "h2")+`.textContent`)
}

func clickBuy(b *browsertest.Tab, e sale.Entry) {
	b.Await("it can be bought", card(e, ".buy:not([aria-disabled])"))
	b.Do(chromedp.Click(`[data-sale="`+e.ID+`"] .buy`, chromedp.ByQuery))
}

// refresh has the page ask for the sales now, as when its device is online again.
func refresh(b *browsertest.Tab) {
	b.Do(chromedp.Evaluate(`window.dispatchEvent(new Event('online'))`, nil))
}

// untilShown refreshes until an expression is true.
func untilShown(g *running, b *browsertest.Tab, what, expression string) {
	g.t.Helper()
	g.until(what, func() bool {
		refresh(b)
		return b.True("!!(" + expression + ")")
	})
}

func status(e sale.Entry, s sale.Status) string {
	return card(e, ".ticket[data-status="+string(s)+"]")
}

// A phone whose clock is an hour fast sees the same opening, live, and no sooner.
func TestPage_OpensByTheShopsClock(t *testing.T) {
	t.Parallel()
	s := connectOwnStores(t)
	opens := time.Now().Add(8 * time.Second)
	e := s.sell(t, 5, func(s *sale.Sale) { s.OpensAt = opens.UTC() })
	g := s.startReady(t)
	g.untilWarm(e.ID)
	b := browsertest.Open(t, browsertest.Phone)
	b.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(`{ const now = Date.now; Date.now = () => now() + 3600e3; }`).Do(ctx)
		return err
	}))
	visit(t, b, g.url, "ada", e)
	b.Await("it counts down", card(e, ".countdown b")+`.textContent === '00' && `+card(e, ".buy[aria-disabled=true]"))
	b.Await("its reader knows the token's name, the address no longer the token", `document.getElementById('who').textContent === 'Signed in as ada' && !location.href.includes('token')`)
	b.Picture("page/countdown")
	b.Await("it opens by itself", card(e, ".buy:not([aria-disabled])"))
	if early := time.Until(opens); early > 0 {
		t.Errorf("it opened %v early", early)
	}
	b.Do(chromedp.Click(".buy", chromedp.ByQuery))
	b.Await("the first click counts", status(e, sale.StatusQueued))
	b.Await("it says how many are ahead, or that they are counted", card(e, ".facts dd")+`.textContent`)
	s.confirm(t, e, "ada", true)
	b.Await("the outcome arrives by itself", status(e, sale.StatusConfirmed))
	b.Await("who pays elsewhere is told where", card(e, ".payment")+`.textContent.includes('Pay in the shop') && `+card(e, ".pay")+`.hidden`)
	b.WantQuiet(g.url)
}

func TestPage_KeysReachEverything(t *testing.T) {
	t.Parallel()
	s := connectOwnStores(t)
	e := s.sell(t, 5)
	g := s.startReady(t)
	g.untilWarm(e.ID)
	b := browsertest.Open(t, browsertest.Desktop)
	visit(t, b, g.url, "ada", e)
	b.Await("it can be bought", card(e, ".buy:not([aria-disabled])"))
	for _, stop := range []string{"Skip to the sales", "English", "中文", "Sign out", "Buy now – Phone"} {
		b.Do(chromedp.KeyEvent(kb.Tab))
		if got := b.Text(`document.activeElement.textContent`); got != stop {
			t.Errorf("Tab reaches %q, want %q", got, stop)
		}
		if !b.True(`getComputedStyle(document.activeElement).outlineStyle !== 'none'`) {
			t.Errorf("the focus on %q cannot be seen", stop)
		}
	}
	b.Do(chromedp.KeyEvent(kb.Enter))
	b.Await("Enter buys, and the focus is on what came of it", status(e, sale.StatusQueued)+` && document.activeElement === `+card(e, ".ticket h3"))
	b.Await("it is read out", `document.querySelector('#said[aria-live=polite]')`)
	s.confirm(t, e, "ada", true)
	b.Await("so is what follows", `document.getElementById('said').textContent.includes('It is yours')`)
	b.WantQuiet(g.url)
}

func TestPage_CanBeReadOnAPhoneInBothLanguages(t *testing.T) {
	t.Parallel()
	s := connectOwnStores(t)
	queued, paid, rejected := s.sell(t, 5), s.sell(t, 5), s.sell(t, 5)
	confirmed := s.sell(t, 5, func(s *sale.Sale) { s.PerUserLimit, s.Title = 3, "Wireless headphones, limited edition, 双十一" })
	later := s.sell(t, 5, func(s *sale.Sale) {
		s.OpensAt = time.Now().Add(50 * time.Hour).UTC()
		s.ClosesAt = s.OpensAt.Add(time.Hour)
	})
	gone := s.sell(t, 1)
	g := s.startReady(t)
	for _, e := range []sale.Entry{queued, paid, rejected, confirmed, later, gone} {
		g.untilWarm(e.ID)
	}
	for _, e := range []sale.Entry{queued, paid, rejected, confirmed} {
		g.expectStatus(g.attempt(e.ID, "ada"), http.StatusAccepted)
	}
	g.expectStatus(g.attempt(gone.ID, "bob"), http.StatusAccepted)
	s.confirm(t, confirmed, "ada", false)
	settled := s.confirm(t, paid, "ada", false)
	_, _, err := s.stock.Settle(t.Context(), paid.ID, 1, []sale.Settlement{{RID: settled.RID, Status: sale.StatusPaid}})
	must(t, err)
	_, _, err = s.stock.Release(t.Context(), rejected.ID, 1, []sale.Release{{RID: s.confirm(t, rejected, "ada", false).RID, Status: sale.StatusRejected, Reason: sale.ReasonInvalid}})
	must(t, err)
	b := browsertest.Open(t, browsertest.Phone)
	b.Expect("409")
	visit(t, b, g.url, "ada", queued)
	b.Await("all that is hers is there", `document.querySelectorAll('.ticket').length === 4 && `+status(paid, sale.StatusPaid)+` && `+status(confirmed, sale.StatusConfirmed))
	for _, language := range []struct{ code, lang, queue, more string }{{"en", "en", "You are in the queue", "could not make an order"}, {"zh", "zh-CN", "您正在排队", "无法将这个名额变成订单"}} {
		b.Do(chromedp.Click("[data-language="+language.code+"]", chromedp.ByQuery))
		b.Await("it speaks "+language.code, status(queued, sale.StatusQueued)+`.textContent.includes('`+language.queue+`') && document.documentElement.lang === '`+language.lang+`'`)
		b.Await("it says why", status(rejected, sale.StatusRejected)+`.textContent.includes('`+language.more+`')`)
		for _, dark := range []bool{false, true} {
			v := browsertest.Phone
			v.Dark = dark
			b.Show(v)
			if faint := b.Text(browsertest.Faint); faint != "" {
				t.Errorf("%s, dark %v: cannot be read well: %s", language.code, dark, faint)
			}
		}
		if wide := b.Text(`String(document.documentElement.scrollWidth)`); wide != "360" {
			t.Errorf("%s: %s pixels wide", language.code, wide)
		}
		if nameless := b.Text(browsertest.Nameless); nameless != "" {
			t.Errorf("%s: without a name, or twice: %s", language.code, nameless)
		}
		if small := b.Text(`[...document.querySelectorAll('button')].filter((e) => e.getClientRects().length && e.getBoundingClientRect().height < 32).map((e) => e.textContent).join()`); small != "" {
			t.Errorf("%s: too small for a thumb: %s", language.code, small)
		}
		b.Picture("page/phone-dark-" + language.code)
		b.Show(browsertest.View{Width: 360, Height: 3400, Mobile: true, Dark: language.code == "zh"})
		b.Picture("page/whole-" + language.code)
		b.Show(browsertest.View{Width: 1280, Height: 1500})
		b.Picture("page/desktop-" + language.code)
		b.Show(browsertest.Phone)
	}
	b.Do(chromedp.Reload())
	b.Await("the language is kept", `document.title.includes('请付款')`)
	b.WantQuiet(g.url)
}

// A click whose answer is lost is asked again by the same key; a sold-out is not believed
// before the buyer's tickets are known.
func TestPage_LostAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := connectOwnStores(t)
	many, last := s.sell(t, 5), s.sell(t, 1)
	g := s.startReady(t)
	g.untilWarm(many.ID)
	g.untilWarm(last.ID)
	base, err := url.Parse(g.url)
	must(t, err)
	var mu sync.Mutex
	var keys []string // guarded by mu
	var lose atomic.Bool
	forward := httputil.NewSingleHostReverseProxy(base)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			mu.Lock()
			keys = append(keys, r.Header.Get("Idempotency-Key"))
			mu.Unlock()
			if lose.CompareAndSwap(true, false) {
				forward.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			}
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	b := browsertest.Open(t, browsertest.Phone)
	b.Expect("409", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION")
	visit(t, b, proxy.URL, "ada", many)
	for _, e := range []sale.Entry{many, last} {
		mu.Lock()
		keys = nil
		mu.Unlock()
		lose.Store(true)
		clickBuy(b, e)
		b.Await("she has it all the same", status(e, sale.StatusQueued))
		mu.Lock()
		if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
			t.Errorf("the attempts had the keys %q", keys)
		}
		mu.Unlock()
		if snap, _, err := s.stock.Snapshot(t.Context(), e.ID, e.Epoch); err != nil || snap.Accepted != 1 {
			t.Errorf("%d units are taken, %v", snap.Accepted, err)
		}
	}
}

func TestPage_SaysWhatIsWrongAndGoesOn(t *testing.T) {
	t.Parallel()
	s := connectOwnStores(t)
	e := s.sell(t, 5)
	invited := s.sell(t, 5, func(s *sale.Sale) { s.Eligibility.MinPaidOrders = 9 })
	g := s.startReady(t)
	g.untilWarm(e.ID)
	g.untilWarm(invited.ID)
	b := browsertest.Open(t, browsertest.Phone)
	b.Expect("403", "503", "410", "ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_INCOMPLETE_CHUNKED_ENCODING")
	visit(t, b, g.url, "", e)
	b.Await("who comes without a token is told how to get one", `!document.getElementById('who-notice').hidden && document.getElementById('who-more').textContent.includes('from the shop')`)
	b.Do(chromedp.Navigate(g.url + "/#token=a.b.c"))
	b.Await("who comes with one that is over too", `document.getElementById('who-title').textContent === 'You are signed out'`)
	b.Picture("page/signed-out")
	visit(t, b, g.url, "ada", e)
	b.Await("she is in", `document.getElementById('who').textContent === 'Signed in as ada' && document.getElementById('who-notice').hidden`)
	clickBuy(b, invited)
	b.Await("who may not buy is told why", card(invited, ".verdict[data-problem=not-eligible]")+`.textContent.includes('more paid orders than you have')`)
	clickBuy(b, e)
	b.Await("she waits", status(e, sale.StatusQueued))

	e.Rev, e.Paused = 2, true
	s.announce(t, e)
	untilShown(g, b, "a pause is told", card(e, ".badge")+`.textContent === 'Paused'`)
	e.Rev, e.Paused = 3, false
	s.announce(t, e)
	untilShown(g, b, "and its end", card(e, ".badge")+`.textContent === 'Open'`)

	e.Rev, e.Epoch = 4, 2
	must(t, s.stock.Fence(t.Context(), e.ID, e.Epoch, "token"))
	s.announce(t, e)
	b.Do(chromedp.Evaluate(`document.dispatchEvent(new Event('visibilitychange'))`, nil))
	b.Await("a rebuild is told, with what was known", status(e, sale.StatusQueued)+` && !`+card(e, ".trouble")+`.hidden && `+card(e, ".trouble")+`.textContent.includes('Nothing is lost')`)
	b.Picture("page/rebuilding")
	e.Rev, e.Retired = 5, true
	s.announce(t, e)
	b.Await("so is that the sale was put away", card(e, ".ticket[data-status=gone]")+`.textContent.includes('put away')`)
	b.Await("and nothing is offered of it", card(e, ".badge")+`.textContent === 'Ended' && `+card(e, ".buy")+`.hidden`)
	b.Picture("page/retired")
	g.stop()
	untilShown(g, b, "and that nobody answers", `!document.getElementById('link').hidden && document.getElementById('link-more').textContent.includes('What you have is safe')`)
	b.Do(chromedp.Click("#link-try", chromedp.ByQuery))
	b.Picture("page/lost")
	if faint := b.Text(browsertest.Faint); faint != "" || strings.TrimSpace(b.Text(browsertest.Nameless)) != "" {
		t.Errorf("cannot be read well: %s", faint)
	}
}
