package main

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"sluice/shared/browsertest"
	"sluice/shared/pgstore"
	"sluice/shared/sale"
)

// row is the text of the world's sale in the console's list.
const row = `document.querySelector('#sale-rows tr').textContent`

func TestConsole_FollowsARealSaleWithoutReloading(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	p, ops := w.startWithAdmin("")
	b := browsertest.Open(t, browsertest.Desktop)
	b.Do(chromedp.Navigate(ops+"/console"), chromedp.SendKeys("#token", adminToken+kb.Enter, chromedp.ByQuery))
	b.Await("the sale is listed", row+`.includes('`+w.entry.ID+`') && `+row+`.includes('open') && `+row+`.includes('10 of 10')`)
	b.Do(chromedp.Click("#sale-rows button", chromedp.ByQuery), chromedp.Evaluate(`window.same = true`, nil))

	reserved := w.reserve(3)
	b.Await("attempts are seen", row+`.includes('7 of 10') && !`+row+`.includes('late')`)
	b.Await("so is what waits, and since when", `document.querySelector('[data-is=waiting]').textContent === '3' && document.querySelector('[data-is=age]').textContent.endsWith(' s')`)
	w.handOver(reserved)
	w.eventuallyAll(sale.StatusConfirmed, reserved)
	b.Await("orders are seen", `document.querySelector('[data-is=waiting]').textContent === '0' && [...document.querySelectorAll('.funnel dd:not(.level)')].slice(1, 4).every((e) => e.textContent === '3')`)

	w.operate(ops, "POST", "/admin/v1/sales/"+w.entry.ID+"/pause", "")
	b.Await("an operator's change is seen", row+`.includes('paused')`)
	w.newLetter(pgstore.Unreadable{SaleID: w.entry.ID, Epoch: 1, Sequence: 1001, Body: []byte("{")})
	b.Await("an alert is seen, with its runbook", `document.querySelector('.alert.firing a').getAttribute('href') === '/console/runbook#deadletters'`)
	if !b.True(`window.same === true`) {
		t.Error("the page was loaded again")
	}
	b.Picture("real")
	b.Do(chromedp.Click(".alert.firing a", chromedp.ByQuery))
	b.Await("the runbook opens there", `document.querySelector('h2:target').textContent === 'DeadLetters'`)
	b.Picture("runbook-real")
	b.Do(chromedp.NavigateBack())
	b.Await("back on the console", `document.documentElement.dataset.link === 'live'`)
	b.WantQuiet(ops)
	w.stopped(p) // an open page does not keep it
	b.Await("the page says that the worker is gone", `document.getElementById('link-text').textContent.startsWith('Connection lost since')`)
}

func TestConsole_ShowsManySales(t *testing.T) {
	t.Parallel()
	const sales = 200
	w := newWorld(t, 10)
	for i := 1; i < sales; i++ {
		w.addSale(fmt.Sprintf("cold-%03d", i))
	}
	p, ops := w.startWithAdmin("")
	b := browsertest.Open(t, browsertest.Phone)
	b.Do(chromedp.Navigate(ops+"/console"), chromedp.SendKeys("#token", adminToken+kb.Enter, chromedp.ByQuery))
	b.Await("all are listed, the one that sells first", fmt.Sprintf(`document.querySelectorAll('#sale-rows tr').length === %d && `, sales)+row+`.includes('`+w.entry.ID+`')`)
	b.Await("those that are not loaded say so", `document.querySelectorAll('.state.not_loaded').length === 199`)
	w.stopped(p)
}
