package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// waiting is what a worker says of one sale's backlog.
type waiting struct {
	Sale    string
	Waiting int64
	Oldest  *time.Time
	Age     float64 `json:"age_seconds"`
	Within  bool    `json:"within_promise"` // false for null
	Stale   bool
}

// backlogOf asks a worker; the sale is not there before it was read.
func (w *world) backlogOf(ops string) (found waiting) {
	w.t.Helper()
	var body struct{ Sales []waiting }
	w.must(json.Unmarshal([]byte(w.operate(ops, "GET", "/admin/v1/backlog", "").body), &body))
	for _, s := range body.Sales {
		if s.Sale == w.entry.ID {
			found = s
		}
	}
	return found
}

// lockSale keeps every transaction of the sale's orders from going on, until it is
// called.
func (w *world) lockSale() (unlock func()) {
	w.t.Helper()
	conn, err := pgx.Connect(w.context(), w.postgresURL)
	w.must(err)
	tx, err := conn.Begin(w.context())
	w.must(err)
	_, err = tx.Exec(w.context(), `SELECT FROM sales WHERE sale_id = $1 FOR UPDATE`, w.entry.ID)
	w.must(err)
	return func() { w.must(conn.Close(w.context())) }
}

// A fault of one sale's backlog is told of that sale alone.
func TestBacklog_OfASaleThatCannotBeOrderedGrowsOld(t *testing.T) {
	t.Parallel()
	stuck := newWorld(t, 10)
	other := newWorldOn(t, 10, serverURLs{redis: stuck.redisURL, postgres: stuck.postgresURL, nats: stuck.natsURL})
	unlock := stuck.lockSale()
	p, ops := stuck.startWithAdmin("", "-statement-timeout", "500ms", "-backlog-promise", "2s")
	held, early := stuck.reserve(3), other.reserve(2)
	stuck.handOver(held)
	other.handOver(early)
	other.eventuallyAll(sale.StatusConfirmed, early)
	stuck.eventually("the age is beyond the promise", func() bool {
		b := stuck.backlogOf(ops)
		return b.Waiting == 3 && b.Age > 2 && !b.Within
	})
	if b := stuck.backlogOf(ops); !b.Oldest.Equal(held[0].AcceptedAt) {
		t.Errorf("oldest since %v, accepted at %v", b.Oldest, held[0].AcceptedAt)
	}
	late := other.reserve(1)
	other.handOver(late)
	other.eventuallyAll(sale.StatusConfirmed, late)
	other.eventually("nothing waits of the other sale", func() bool {
		b := other.backlogOf(ops)
		return b.Waiting == 0 && b.Oldest == nil && b.Within
	})
	unlock()
	stuck.eventuallyAll(sale.StatusConfirmed, held)
	stuck.eventually("nothing waits any more", func() bool {
		b := stuck.backlogOf(ops)
		return b.Sale != "" && b.Waiting == 0 && b.Oldest == nil && b.Within
	})
	stuck.stopped(p)
}
