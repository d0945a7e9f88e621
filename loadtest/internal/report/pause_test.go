package report

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestPauses_AreToldInThePageAndTheTerminal(t *testing.T) {
	t.Parallel()
	r := full()
	r.Faults = []Fault{{Row: "44", Name: "a", Seed: 3, Pass: true, Pauses: []Pause{{Of: "the NATS leader", AcceptsS: 4.25, OrdersS: 3.5}}}}
	var page, text bytes.Buffer
	if err := r.page(&page, "x", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := r.PrintPauses(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the NATS leader", "4.25 s", "3.5 s"} {
		if !strings.Contains(page.String(), want) || !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in the page or not in\n%s", want, text.String())
		}
	}
	if !strings.Contains(page.String(), "rows pass") || !strings.Contains(page.String(), "accepted in stock, p99") {
		t.Error("the page lacks the numbers of the sale or of the faults")
	}
	text.Reset()
	if err := full().PrintPauses(&text); err != nil || text.Len() > 0 {
		t.Errorf("without pauses: %q, %v", text.String(), err)
	}
}
