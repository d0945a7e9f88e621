package report

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"sluice/shared/browsertest"
)

// crowded are texts of a chart that cover each other, and charts with texts that leave
// them, as the browser lays them out; "" without.
const crowded = `(() => {
	const found = [];
	for (const chart of document.querySelectorAll('svg[role=img]')) {
		const texts = [...chart.querySelectorAll('text')].map(t => ({text: t.textContent, box: t.getBoundingClientRect()}));
		const title = chart.querySelector('title').textContent, whole = chart.getBoundingClientRect();
		texts.forEach((a, i) => {
			if (a.box.left < whole.left - 3 || a.box.right > whole.right + 3) found.push(title + ': ' + a.text + ' leaves the chart');
			for (const b of texts.slice(i + 1)) {
				const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
				const high = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
				if (wide > 1 && high > 4) found.push(title + ': ' + a.text + ' | ' + b.text);
			}
		});
	}
	return found.join('\n');
})()`

func TestPage_IsReadableOnPhoneAndDesktop(t *testing.T) {
	t.Parallel()
	r := full()
	r.Paces = []Pace{paced()}
	lookAt(t, "report", r)
}

// The matrix of faults has rows that pass, that are late, that fail and that are controls.
func TestPage_MatrixOfFaultsIsReadableOnPhoneAndDesktop(t *testing.T) {
	t.Parallel()
	r := Report{Faults: broken(), Machine: ThisMachine()}
	r.Fail("I3", "row 24, seed 2: order lost")
	lookAt(t, "matrix", r)
}

// lookAt has a browser show a report to somebody with a phone, by day and by night, and
// with a desk.
func lookAt(t *testing.T, pictures string, r Report) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, pageOf(t, r))
	}))
	t.Cleanup(server.Close)
	phone := browsertest.View{Width: 390, Height: 844, Mobile: true}
	tab := browsertest.Open(t, phone)
	tab.Expect("404") // of the icon
	tab.Do(chromedp.Navigate(server.URL))
	for name, v := range map[string]browsertest.View{"phone": phone, "desktop": browsertest.Desktop, "phone-dark": {Width: 390, Height: 844, Mobile: true, Dark: true}} {
		tab.Show(v)
		if found := tab.Text(crowded); found != "" {
			t.Errorf("%s:\n%s", name, found)
		}
		if !tab.True(`document.documentElement.scrollWidth <= innerWidth`) {
			t.Errorf("%s: the page is wider than the window: %s", name, tab.Text(`document.documentElement.scrollWidth + ' of ' + innerWidth`))
		}
		if faint := tab.Text(browsertest.Faint); faint != "" {
			t.Errorf("%s: too faint to read: %s", name, faint)
		}
		tab.Picture(pictures + "/" + name)
		if tab.True(`!!document.querySelector('.control')`) {
			tab.True(`(document.querySelector('.control').scrollIntoView(), true)`)
			tab.Picture(pictures + "/" + name + "-control")
			tab.True(`(scrollTo(0, 0), true)`)
		}
	}
	tab.WantQuiet(server.URL)
}
