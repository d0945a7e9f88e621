package ledger

import (
	"fmt"
	"strings"
)

// Run replays a history in a world, lets it come to rest, and returns the first violation.
func Run(w *World, history []Action) error {
	for _, a := range history {
		w.act(a)
		if err := w.check(); err != nil {
			return err
		}
	}
	return w.settleDown()
}

// Trace is what has happened, a line each.
func (w *World) Trace() string { return strings.Join(w.trace, "\n") }

// stateText is what a trace tells of the stores, a line each.
func (w *World) stateText() (lines []string) {
	if !w.traced {
		return nil
	}
	p := w.rows
	lines = append(lines, fmt.Sprintf("redis %+v, postgres %+v, announced %+v", w.fast.meta, p.entry, w.announced))
	if k := w.fast.keys[w.fast.meta.epoch]; k != nil {
		lines = append(lines, fmt.Sprintf("stock %d of %d, handoff %v", k.stock, k.total, k.handoff))
		for rid, t := range k.tickets {
			lines = append(lines, fmt.Sprintf("ticket %s of %s#%d %s", rid, t.UserID, t.Slot, t.status))
		}
	}
	lines = append(lines, fmt.Sprintf("held %d of %d", p.held, p.total))
	for rid, o := range p.orders {
		lines = append(lines, fmt.Sprintf("order %s %s %s, released %t", rid, o.state, o.reason, p.releases[rid].applied))
	}
	for id, e := range p.payments {
		lines = append(lines, fmt.Sprintf("%s %s of %s: %q", e.Type, id, e.OrderID, e.result))
	}
	for i, m := range w.stream {
		lines = append(lines, fmt.Sprintf("hand-over %d at epoch %d of %v, acknowledged %t", i+1, m.epoch, ridsOf(m.reservations), m.acknowledged))
	}
	return lines
}

// news is what has changed since before.
func (w *World) news(before []string) string {
	was := make(map[string]bool)
	for _, line := range before {
		was[line] = true
	}
	var news []string
	for _, line := range w.stateText() {
		if !was[line] {
			news = append(news, line)
		}
	}
	return strings.Join(news, "; ")
}
