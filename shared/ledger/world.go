package ledger

import (
	"fmt"
	"time"

	"sluice/shared/sale"
)

// What every order costs.
const (
	price    = 199900
	currency = "CNY"
)

// Setting is a sale as its history begins.
type Setting struct {
	Total int64
	Limit int
	Rebuy bool
}

// Sale is the sale that is set so, open for long.
func (s Setting) Sale() sale.Sale {
	now := time.Now()
	return sale.Sale{
		ID: "phone", Kind: sale.KindGoods, Title: "Phone at half price", SKU: "PHONE-1", Total: s.Total, PriceMinor: price, Currency: currency,
		PerUserLimit: s.Limit, RebuyAfterRelease: s.Rebuy, OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), Hold: 15 * time.Minute,
		Mode: sale.ModeQueued, Weight: 1,
	}
}

// World is a sale, its three stores and everybody who works on them.
type World struct {
	number int
	redis  FastState
	truth  Truth
	fast   *Redis    // what redis is, or is compared with
	rows   *Postgres // what truth is, or is compared with

	differs func() error // unless nil, says where real stores are not as the references

	stream    []message
	announced Entry // in the catalogue
	tasks     []*task
	settling  bool
	copy      *Redis // that Redis may come back with
	off       off

	rids        int             // that gateways have made
	calls       []reserveCall   // every one ever made, for retries
	issued      []string        // rids that Redis accepted, in order
	late        map[string]bool // of them, those of late payments
	told        map[string]bool // rids that somebody was answered 202 or 200 with
	seen        map[string]sale.Status
	events      int
	adjustments []sale.Adjustment
	tokens      int

	acts   map[Do]func(n int)
	traced bool
	trace  []string
	Hits   map[string]int // what happened, and how often: exploring is worth nothing if it met nothing
}

// reserveCall is a gateway's call of reserve.
type reserveCall struct {
	epoch    int64
	attempts []sale.Attempt
}

// message is a hand-over in the stream; its sequence is its place, from 1.
type message struct {
	epoch        int64
	reservations []sale.Reservation
	acknowledged bool
}

// New is a world whose sale is live at epoch 1.
func New(s Setting, without ...Protection) *World {
	w := newWorld(s.Sale(), 0, without...)
	w.begin()
	return w
}

// newWorld is a world in which the sale was never loaded. Its number keeps its rids from
// those of others in the same stores.
func newWorld(s sale.Sale, number int, without ...Protection) *World {
	off := off{}
	for _, p := range without {
		off[p] = true
	}
	w := &World{number: number, fast: newRedis(s, off), rows: newPostgres(s, off), off: off}
	w.redis, w.truth = w.fast, w.rows
	w.late, w.told, w.seen, w.Hits = map[string]bool{}, map[string]bool{}, map[string]sale.Status{}, map[string]int{}
	w.acts = w.actions()
	return w
}

// begin loads the first epoch.
func (w *World) begin() {
	w.rebuild()
	w.finishTasks()
	w.copy = w.fast.copied()
}

// hit notes that something worth exploring happened.
func (w *World) hit(what string) { w.Hits[what]++ }

func (w *World) note(format string, args ...any) {
	if w.traced {
		w.trace = append(w.trace, fmt.Sprintf(format, args...))
	}
}

func (w *World) newRID() string {
	w.rids++
	return fmt.Sprintf("01935fd2-%04d-7000-8000-%012d", w.number, w.rids)
}

// issue notes the reservations that Redis has made.
func (w *World) issue(decisions ...sale.Decision) {
	for _, d := range decisions {
		if d.Code != sale.DecidedAccepted {
			continue
		}
		if _, known := w.seen[d.Ticket.RID]; !known {
			w.issued = append(w.issued, d.Ticket.RID)
			w.seen[d.Ticket.RID] = sale.StatusQueued
		}
	}
}

func (w *World) publish(epoch int64, reservations []sale.Reservation) {
	w.stream = append(w.stream, message{epoch: epoch, reservations: reservations})
}

func (w *World) announce(e Entry) {
	if e.newerThan(w.announced) {
		w.announced = e
	}
}
