package main

import (
	"testing"

	"github.com/chromedp/chromedp"

	"sluice/shared/browsertest"
	"sluice/shared/sale"
)

// claimed settles the coupon that a user has claimed, as a worker does.
func (s *stores) claimed(t *testing.T, e sale.Entry, user string) sale.Ticket {
	t.Helper()
	_, mine, err := s.stock.TicketsOf(t.Context(), e.ID, e.Epoch, user)
	must(t, err)
	if len(mine) != 1 {
		t.Fatalf("%s has %d tickets", user, len(mine))
	}
	_, _, err = s.stock.Settle(t.Context(), e.ID, e.Epoch, []sale.Settlement{{RID: mine[0].RID, Status: sale.StatusPaid}})
	must(t, err)
	must(t, s.queue.NotifyResults(e.ID, []sale.Result{{RID: mine[0].RID, Status: sale.StatusPaid}}))
	return *mine[0]
}

// A coupon has no price and no time to pay: it is claimed, and then it is there.
func TestPage_CouponIsClaimedAndIsThere(t *testing.T) {
	t.Parallel()
	s := connectOwnStores(t)
	coupons := func(s *sale.Sale) {
		s.Kind, s.Title, s.Template, s.SKU, s.PriceMinor = sale.KindCoupon, "20 off for newcomers", "newcomer-20", "newcomer-20", 0
	}
	e, last := s.sell(t, 5, coupons), s.sell(t, 1, coupons)
	goods := s.sell(t, 5)
	g := s.startReady(t)
	for _, e := range []sale.Entry{e, last, goods} {
		g.untilWarm(e.ID)
	}
	b := browsertest.Open(t, browsertest.Phone)
	b.Expect("409")
	visit(t, b, g.url, "ada", e)
	b.Await("a coupon says what it is, not what it costs", card(e, ".price")+`.textContent === 'Coupon' && `+card(goods, ".price")+`.textContent !== 'Coupon'`)
	b.Await("it is claimed, not bought", card(e, ".buy span")+`.textContent === 'Claim' && `+card(goods, ".buy span")+`.textContent === 'Buy now'`)
	b.Picture("page/coupon")
	clickBuy(b, e)
	b.Await("she waits", status(e, sale.StatusQueued))
	rid := s.claimed(t, e, "ada").RID
	b.Await("it is hers", status(e, sale.StatusConfirmed)+` && `+card(e, ".ticket h3")+`.textContent === 'The coupon is yours'`)
	b.Await("its number is there", card(e, ".order")+`.textContent === 'Coupon number `+rid+`'`)
	b.Await("nothing is to be paid", card(e, ".payment")+`.hidden && !document.title.includes('pay') && !`+card(e, ".ticket")+`.textContent.includes('¥')`)
	b.Await("both steps are done", `[...document.querySelectorAll('[data-sale="`+e.ID+`"] .steps li')].filter((li) => !li.hidden).map((li) => li.textContent + ('done' in li.dataset)).join() === 'Queuetrue,Claimedtrue'`)

	g.attempt(last.ID, "bob")
	clickBuy(b, last)
	b.Await("who was slower is told in words for coupons", card(last, ".verdict[data-problem=sold-out]")+`.textContent.includes('coupon')`)
	if faint := b.Text(browsertest.Faint); faint != "" {
		t.Errorf("cannot be read well: %s", faint)
	}
	b.Do(chromedp.Click("[data-language=zh]", chromedp.ByQuery))
	b.Await("in Chinese too", card(e, ".ticket h3")+`.textContent === '已领取' && `+card(e, ".price")+`.textContent === '优惠券'`)
	b.Show(browsertest.View{Width: 1280, Height: 1000, Dark: true})
	b.Picture("page/coupon-claimed")
	b.Do(chromedp.Reload())
	b.Await("after a reload it still is", status(e, sale.StatusConfirmed)+` && !document.title.includes('请付款')`)
	b.WantQuiet(g.url)
}
