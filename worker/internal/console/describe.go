package console

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// describe fills a frame with what was read, and takes it down in the histories.
func (w *watch) describe(now time.Time, f *frame) {
	backlog := w.backlog()
	f.Totals.AgeKnown = true
	for _, id := range slices.Sorted(maps.Keys(w.sales)) {
		t := w.sales[id]
		var b *Backlog
		if one, ok := backlog[id]; ok {
			b = &one
		}
		body := t.body(now, b)
		f.Totals.add(body)
		w.hub.remember(id, t, pointOf(now, body))
		if text := encode(body); string(text) != t.encoded {
			t.encoded = string(text)
			f.Sales = append(f.Sales, text)
		}
	}
	if f.Sales == nil {
		f.Sales = []json.RawMessage{}
	}
	if w.sources.Pace != nil {
		f.Pace = bodyOfPace(w.sources.Pace())
	}
	if w.sources.Alerts != nil {
		f.Alerts = &[]alertBody{}
		for _, a := range w.sources.Alerts() {
			*f.Alerts = append(*f.Alerts, bodyOfAlert(a))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f.SalesAt = moment(w.standingsAt)
}

// backlog is by sale; empty where nobody watches it.
func (w *watch) backlog() map[string]Backlog {
	by := map[string]Backlog{}
	if w.sources.Backlog != nil {
		for _, b := range w.sources.Backlog() {
			by[b.SaleID] = b
		}
	}
	return by
}

// add takes one sale. One that Redis never had waits for nothing. The age of the oldest is
// known when that of every sale is; a sum is of those that are known.
func (t *totals) add(b saleBody) {
	if b.RedisState == redisNone {
		return
	}
	t.AgeKnown = t.AgeKnown && b.AgeKnown
	if b.Oldest != nil && (t.Oldest == nil || *b.Oldest < *t.Oldest) {
		t.Oldest = b.Oldest
	}
	t.Waiting = plus(t.Waiting, b.Waiting)
	t.Accepting = plus(t.Accepting, b.Accepting)
	t.Settling = plus(t.Settling, b.Draining)
}

// plus adds what is known; nil when nothing is.
func plus[N int64 | float64](sum, n *N) *N {
	if sum == nil || n == nil {
		return cmp.Or(sum, n)
	}
	both := *sum + *n
	return &both
}

// pointOfAll is a moment of all sales and of the pace.
func pointOfAll(now time.Time, f *frame) point {
	p := pointOf(now, saleBody{
		Waiting: f.Totals.Waiting, Oldest: f.Totals.Oldest, AgeKnown: f.Totals.AgeKnown, Accepting: f.Totals.Accepting, Draining: f.Totals.Settling,
	})
	if f.Pace != nil {
		p.target = float32(f.Pace.Target)
		p.pace = float32(f.Pace.Orders)
		if f.Pace.Paused {
			p.pace = 0
		}
		if f.Pace.P90 > 0 {
			p.p90 = float32(f.Pace.P90)
		}
	}
	return p
}
