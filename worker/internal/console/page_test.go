package console_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sluice/shared/browsertest"
	"sluice/shared/sale"
	"sluice/worker/internal/console"
)

const token = "tttttttttttttttttttttttttttttttt"

// night is what a console is shown: sales that all go on, worse and better.
type night struct {
	mu     sync.Mutex
	begun  time.Time
	n      int // sales
	mute   bool
	alerts []console.Alert
	down   bool // Redis
	paused bool // the pace
}

func newNight(n int) *night { return &night{begun: time.Now().Add(-5 * time.Minute), n: n} }

func (f *night) id(i int) string { return fmt.Sprintf("sale-%03d", i) }

var titles = []string{"Phone at half price", "Wireless headphones, limited edition", "双十一限量球鞋 42 码", "Espresso machine <i>new</i>", "Newcomer coupon"}

// shrink has some sales leave.
func (f *night) shrink(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n = n
}

func (f *night) Standings(ctx context.Context, _ string) ([]sale.Standing, error) {
	if f.mute {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	all := make([]sale.Standing, f.n)
	for i := range all {
		s := sale.Sale{
			ID: f.id(i), Kind: sale.KindGoods, Title: titles[i%len(titles)], Total: 1000, Weight: 1 + i%3,
			OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
		}
		if i%9 == 8 {
			s.OpensAt = now.Add(30 * time.Minute)
		}
		if i%11 == 10 {
			s.ClosesAt = now.Add(-time.Minute)
		}
		all[i] = sale.Standing{Entry: sale.Entry{Sale: s, Epoch: 3, Paused: i%7 == 6, Rebuilding: i == 4}, Total: 1000, Held: 610}
	}
	return all, nil
}

func (f *night) Snapshot(_ context.Context, id string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return sale.Snapshot{}, sale.HandOff{}, errors.New("no route")
	}
	var i int
	_, _ = fmt.Sscanf(id, "sale-%d", &i)
	rank := 640 + int64(time.Since(f.begun).Seconds()*float64(i%5+1)/10)
	return sale.Snapshot{
		SaleID: id, Epoch: epoch, Version: 7, Now: time.Now(), SoldOut: i%5 == 3, Total: 1000, Stock: max(0, 1000-rank),
		Rank: rank, Accepted: rank, Served: rank - int64(i%4)*9, Unpaid: 120, Given: 12,
	}, sale.HandOff{}, nil
}

func (f *night) backlog() []console.Backlog {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]console.Backlog, f.n)
	for i := range all {
		all[i] = console.Backlog{SaleID: f.id(i), Known: true, Waiting: int64(i%4) * 9, DrainRate: float64(i%5) + .5}
		if all[i].Waiting > 0 {
			all[i].Oldest = time.Now().Add(-time.Duration(i%37) * time.Second).Truncate(time.Second)
		}
	}
	return all
}

func (f *night) alert(a ...console.Alert) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.alerts = a
}

func (f *night) listAlerts() []console.Alert {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.alerts
}

func (f *night) pace() console.Pace {
	f.mu.Lock()
	defer f.mu.Unlock()
	return console.Pace{
		Paused: f.paused, Orders: 412.5, P90: 18400 * time.Microsecond, Target: 50 * time.Millisecond, LimitedBy: "demand",
		Consumers: 4, ConsumersMax: 16, InFlight: 3, WorkersWanted: 1,
	}
}

const runbook = "# Runbook\n\n## BacklogAgeHigh\n\nLook at the pace.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n## DeadLetters\n\n<script>x</script>Read them.\n"

// readTimeout is the listener's, shorter than the worker's: streams outlast it.
const readTimeout = 2 * time.Second

// worker is a console that runs, at an address that it has again after another start.
type worker struct {
	t       *testing.T
	night   *night
	address string
	around  func(http.Handler) http.Handler // nil for nothing
	stop    func()
}

func (f *night) serve(t *testing.T) *worker {
	t.Helper()
	w := &worker{t: t, night: f, address: "127.0.0.1:0"}
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *worker) url() string { return "http://" + w.address }

func (w *worker) start() {
	w.t.Helper()
	listener, err := net.Listen("tcp", w.address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.address = listener.Addr().String()
	c, err := console.New(token, []byte(runbook), slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	var handler http.Handler = c
	if w.around != nil {
		handler = w.around(c)
	}
	server := &http.Server{Handler: handler, ReadTimeout: readTimeout, WriteTimeout: 2 * readTimeout}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })
	running.Go(func() {
		f := w.night
		c.Run(ctx, console.Sources{Sales: f, Redis: f, Backlog: f.backlog, Promise: 30 * time.Second, Pace: f.pace, Alerts: f.listAlerts})
	})
	w.stop = func() {
		cancel()
		_ = server.Close()
		running.Wait()
	}
}

// signIn opens the console and waits until it is live.
func signIn(b *browsertest.Tab, url string) {
	b.Do(chromedp.Navigate(url+"/console"), chromedp.SendKeys("#token", token+kb.Enter, chromedp.ByQuery))
	b.Await("the page is live", `document.documentElement.dataset.link === 'live'`)
}

var ageHigh = console.Alert{
	Name: "BacklogAgeHigh", State: "firing", Severity: "page", Sale: "sale-035", Summary: "the oldest reservation has waited 35 s, promised are 30 s",
	Since: time.Now().Add(-2 * time.Minute),
}

func TestPage_AsksForTheTokenAndLetsGoOfIt(t *testing.T) {
	t.Parallel()
	w := newNight(3).serve(t)
	b := browsertest.Open(t, browsertest.Desktop)
	b.Do(chromedp.Navigate(w.url()+"/console"), chromedp.SendKeys("#token", "wrong"+kb.Enter, chromedp.ByQuery))
	b.Await("it says that the token is wrong", `document.querySelector('#refused[role=alert]').textContent.includes('not the admin token')`)
	b.Picture("console/login-refused")
	signIn(b, w.url())
	if where := b.Text(`location.href + document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)`); where != w.url()+"/console{}{}" {
		t.Errorf("the token or the session can be read: %s", where)
	}
	b.Do(chromedp.Click("form[action='/console/logout'] button", chromedp.ByQuery))
	b.Await("the form is back", `document.getElementById('token')`)
	b.Do(chromedp.Navigate(w.url() + "/console/runbook"))
	b.Await("the runbook asks too", `document.getElementById('token')`)
	b.WantQuiet(w.url())
}

func TestPage_AlertIsToldWhileThePageIsOpen(t *testing.T) {
	t.Parallel()
	f := newNight(40)
	w := f.serve(t)
	b := browsertest.Open(t, browsertest.View{Width: 1440, Height: 1500})
	signIn(b, w.url())
	b.Await("it says that all is well", `!document.getElementById('alert-none').hidden && document.title === 'Sluice on call'`)
	b.Await("titles are text", `[...document.querySelectorAll('#sale-rows button')].some((e) => e.textContent === 'Espresso machine <i>new</i>')`)
	b.Picture("console/calm")
	f.alert(ageHigh, console.Alert{Name: "DependencyDown", State: "pending", Severity: "page", Dependency: "redis", Summary: "Redis has not answered for 6 s", Since: time.Now().Add(-6 * time.Second)},
		console.Alert{Name: "DeadLetters", State: "resolved", Severity: "ticket", Summary: "1 dead letter is open", Since: time.Now().Add(-30 * time.Minute), ResolvedAt: time.Now().Add(-20 * time.Minute)})
	b.Await("the alert is there", `document.querySelector('.alert.firing').textContent.includes('since')`)
	b.Await("screen readers are told", `document.getElementById('alert-news').textContent.includes('BacklogAgeHigh fires for sale-035')`)
	b.Await("so is whoever looks at the tab", `document.title === '(1) Sluice on call'`)
	b.Picture("console/alerts")
	b.Do(chromedp.Click(".alert.firing .link", chromedp.ByQuery))
	b.Await("the alert leads to its sale", `document.querySelector('tr[aria-current] small').textContent === 'sale-035' && !document.getElementById('sale').hidden`)
	b.Await("its charts are drawn", `document.querySelectorAll('#sale canvas').length === 2`)
	b.Picture("console/sale")
	f.alert()
	b.Await("the end of the alert is told", `document.getElementById('alert-news').textContent.includes('fires no longer')`)
	f.alert(ageHigh)
	b.Await("it fires again", `document.querySelector('.alert.firing a')`)
	b.Do(chromedp.Click(".alert.firing a", chromedp.ByQuery))
	b.Await("the runbook opens at the alert", `document.querySelector('h2:target').textContent === 'BacklogAgeHigh' && !document.querySelector('main script')`)
	b.Picture("console/runbook")
	b.WantQuiet(w.url())
}

// active is the id, or the sale, of what has the focus.
const active = `(document.activeElement.id || document.activeElement.dataset.sale || document.activeElement.getAttribute('href') || document.activeElement.textContent)`

func TestPage_KeysReachEverything(t *testing.T) {
	t.Parallel()
	w := newNight(200).serve(t)
	b := browsertest.Open(t, browsertest.Desktop)
	signIn(b, w.url())
	b.Await("every sale is listed", `document.querySelectorAll('#sale-rows tr').length === 200`)
	worst := b.Text(`document.querySelector('#sale-rows small').textContent`)
	for _, stop := range []string{"#sales", "#alerts", "#charts", "#sales", "/console/runbook", "Sign out", "Pause or resume: the admin API's commands", "filter", worst} {
		b.Do(chromedp.KeyEvent(kb.Tab))
		if got := b.Text(active); got != stop {
			t.Errorf("Tab reaches %q, want %q", got, stop)
		}
		if !b.True(`getComputedStyle(document.activeElement).outlineStyle !== 'none'`) {
			t.Errorf("the focus on %q cannot be seen", stop)
		}
	}
	for _, key := range []string{"j", "j", "k"} {
		b.Press(key)
	}
	b.Await("j, j and k select the first sale", active+` === '`+worst+`' && document.querySelectorAll('tr[aria-current]').length === 1 && document.querySelector('tr[aria-current] small').textContent === '`+worst+`'`)
	b.Press("/")
	b.Do(chromedp.SendKeys("#filter", "sale-14 phone", chromedp.ByQuery))
	b.Await("/ reaches the filter", active+` === 'filter' && document.querySelectorAll('#sale-rows tr').length === 4`)
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Await("Escape empties the filter", `document.querySelectorAll('#sale-rows tr').length === 200`)
	b.Do(chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.KeyEvent(kb.Escape))
	b.Await("Escape closes the sale", `document.getElementById('sale').hidden`)
	b.WantQuiet(w.url())
}

func TestPage_FitsAPhoneAndCanBeRead(t *testing.T) {
	t.Parallel()
	f := newNight(40)
	f.alert(ageHigh)
	w := f.serve(t)
	b := browsertest.Open(t, browsertest.Phone)
	signIn(b, w.url())
	fits := func(what string) {
		b.Await(what+" fits", `document.documentElement.scrollWidth <= 360 && document.querySelectorAll('#sale-rows tr').length === 40`)
		for _, dark := range []bool{false, true} {
			v := browsertest.Phone
			v.Dark = dark
			b.Show(v)
			if faint := b.Text(browsertest.Faint); faint != "" {
				t.Errorf("%s, dark %v: cannot be read well: %s", what, dark, faint)
			}
		}
	}
	fits("the page")
	b.Picture("console/phone-dark")
	b.Show(browsertest.View{Width: 360, Height: 2600, Mobile: true})
	b.Await("the charts are drawn", `document.querySelectorAll('#charts canvas').length === 4`)
	b.Picture("console/phone-whole")
	b.Show(browsertest.Phone)
	b.Picture("console/phone")
	b.Do(chromedp.Click("#sale-rows button", chromedp.ByQuery))
	b.Await("the sale is shown", active+` === 'sale-title'`)
	b.Do(chromedp.Click("#sale .commands summary", chromedp.ByQuery))
	fits("a sale")
	b.Do(chromedp.Evaluate(`document.getElementById('sale').scrollTo(0, 1e6)`, nil))
	b.Await("it can be closed from its end", `(() => { const r = document.getElementById('sale-close').getBoundingClientRect(); return document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2).id === 'sale-close' })()`)
	if small := b.Text(`[...document.querySelectorAll('.bar a, .bar button, #sale button')].filter((e) => e.getBoundingClientRect().height < 24).map((e) => e.textContent).join()`); small != "" {
		t.Errorf("too small for a thumb: %s", small)
	}
	b.Show(browsertest.Phone)
	b.Picture("console/phone-sale")
	b.Show(browsertest.View{Width: 1440, Height: 1500, Dark: true})
	b.Picture("console/dark")
	if faint := b.Text(browsertest.Faint); faint != "" {
		t.Errorf("on a desktop, dark: cannot be read well: %s", faint)
	}
	b.WantQuiet(w.url())
}

func TestPage_SaysThatTheConnectionIsLostAndComesBack(t *testing.T) {
	t.Parallel()
	f := newNight(5)
	w := f.serve(t)
	b := browsertest.Open(t, browsertest.Desktop)
	signIn(b, w.url())
	w.stop()
	b.Await("it says so", `document.getElementById('link-text').textContent.startsWith('Connection lost since ')`)
	b.Await("and that what it shows was so before", `document.title === 'Not live: Sluice on call' && getComputedStyle(document.getElementById('alert-none'), '::after').content.includes('before')`)
	if !b.True(`getComputedStyle(document.getElementById('alert-none')).color === getComputedStyle(document.querySelector('.soft')).color`) {
		t.Error("what was well still looks so")
	}
	b.Picture("console/lost")
	w.start()
	b.Await("it is live again, with the session that it had", `document.documentElement.dataset.link === 'live'`)
	f.mu.Lock()
	f.down, f.paused = true, true
	f.mu.Unlock()
	b.Await("it says that the pace is paused", `document.querySelector('#pace.paused b').textContent === 'Paused' && document.querySelector('#chart-pace .value').textContent === '0'`)
	b.Await("it says that Redis is silent", `document.getElementById('notice').textContent.includes('Redis does not answer for 5 sales')`)
	b.Picture("console/redis-down")
}
