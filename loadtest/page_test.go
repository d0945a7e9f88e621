package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sluice/loadtest/internal/stack"
	"sluice/shared/browsertest"
)

// Two buyers, one unit, a real stack as make up runs it: one buys and pays, the other is
// told. The first one claims a coupon too.
func TestPage_OneBuysAndPaysTheOtherIsToldThatItIsGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	url := openShop(ctx, t, fmt.Sprintf(`
  - {id: last-one, title: The very last console, sku: CONSOLE-1, total: 1, price: 299900, opens_at: %[1]s, closes_at: %[2]s}
  - {id: phone, title: Phone at half price, sku: PHONE-1, total: 1000, price: 199900, per_user_limit: 2, opens_at: %[1]s, closes_at: %[2]s}
  - {id: watch, title: "Watch, limited edition", sku: WATCH-1, total: 100, price: 89900, opens_at: %[2]s, closes_at: %[3]s}
  - {id: newcomer-coupon, kind: coupon, title: 20 off for newcomers, template: newcomer-20, total: 100, opens_at: %[1]s, closes_at: %[2]s}
coupon_templates:
  - {id: newcomer-20, kind: amount, value: 2000, min_amount: 10000, total: 100}
`, inFile(time.Now().Add(-time.Hour)), inFile(time.Now().Add(26*time.Hour)), inFile(time.Now().Add(200*time.Hour))))
	ada, bob := browsertest.Open(t, browsertest.View{Width: 1280, Height: 900}), browsertest.Open(t, browsertest.Phone)
	const card = `[data-sale=last-one] `
	for _, b := range []*browsertest.Tab{ada, bob} {
		b.Expect("409")
		b.Do(chromedp.Navigate(url))
		b.Await("the sale is open", `document.querySelector('`+card+`.buy:not([aria-disabled])')`)
	}
	ada.Picture("page/list")
	bob.Picture("page/phone")
	ada.Do(chromedp.Click(card+".buy", chromedp.ByQuery))
	ada.Await("who buys is asked for a name", `document.activeElement.id === 'signin-name'`)
	ada.Picture("page/sign-in")
	ada.Do(chromedp.SendKeys("#signin-name", "ada"+kb.Enter, chromedp.ByQuery))
	ada.Await("it is hers", `document.querySelector('`+card+`.ticket[data-status=confirmed] .pay').getClientRects().length`)
	ada.Await("the clock runs", `document.querySelector('`+card+`.ticket .countdown b').textContent === '14'`)
	ada.Picture("page/confirmed")

	bob.Do(chromedp.Click("#in", chromedp.ByQuery), chromedp.SendKeys("#signin-name", "bob"+kb.Enter, chromedp.ByQuery))
	bob.Await("bob is in", `document.getElementById('who').textContent === 'Signed in as bob'`)
	bob.Do(chromedp.Evaluate(`document.querySelector('`+card+`.buy').click()`, nil))
	bob.Await("bob is told", `/Sold out|sold out/.test(document.querySelector('`+card+`').textContent)`)
	bob.Await("in words", `document.querySelector('`+card+`.verdict[data-problem=sold-out]').textContent.includes('Some are not paid for yet') || document.querySelector('`+card+`').dataset.state === 'sold_out'`)
	bob.Do(chromedp.ScrollIntoView(card, chromedp.ByQuery))
	bob.Picture("page/sold-out")

	ada.Do(chromedp.Click(card+".pay", chromedp.ByQuery))
	ada.Await("it is paid", `document.querySelector('`+card+`.ticket[data-status=paid] h3').textContent === 'Paid. Thank you!'`)
	ada.Await("the focus is not lost", `document.activeElement === document.querySelector('`+card+`.ticket h3')`)
	ada.Await("screen readers are told", `document.getElementById('said').textContent.includes('Paid. Thank you!')`)
	ada.Picture("page/paid")
	const coupon = `[data-sale=newcomer-coupon] `
	ada.Await("a coupon costs nothing", `document.querySelector('`+coupon+`.price').textContent === 'Coupon'`)
	ada.Do(chromedp.Click(coupon+".buy", chromedp.ByQuery))
	ada.Await("once claimed it is there, and nothing is to be paid",
		`document.querySelector('`+coupon+`.ticket[data-status=confirmed] h3').textContent === 'The coupon is yours' && document.querySelector('`+coupon+`.payment').hidden`)
	ada.Picture("page/claimed")
	ada.Do(chromedp.Reload())
	ada.Await("after a reload it still is", `document.querySelector('`+card+`.ticket[data-status=paid]') && document.querySelector('`+coupon+`.ticket[data-coupon]')`)
	again := ada.NewTab(browsertest.Phone)
	again.Do(chromedp.Navigate(url))
	again.Await("in a second tab too", `document.querySelector('`+card+`.ticket[data-status=paid]')`)
	for _, b := range []*browsertest.Tab{ada, bob, again} {
		b.WantQuiet(url)
	}
}

// openShop runs a stack with sales and the local shop, and returns where its page is.
func openShop(ctx context.Context, t *testing.T, sales string) string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "sales.yaml")
	if err := os.WriteFile(file, []byte("sales:"+sales), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := stack.Start(ctx, stack.Config{Gateways: 1, Workers: 1, SalesFile: file, OutDir: dir, BinDir: programs(t), Log: slog.New(slog.DiscardHandler), LocalShop: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Info().Gateways[0].URL
}
