package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/shared/pgstore"
	"sluice/shared/sale"
)

func TestWorker_BringsAPauseFromPostgresToRedisAndTheCatalogue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	p, other := w.startWorker(""), w.startWorker("")
	for _, paused := range []bool{true, false} {
		entry, err := w.store.SetPaused(w.context(), sale.Actor{Who: "test"}, w.entry.ID, paused)
		w.must(err)
		w.eventually("redis and the catalogue follow", func() bool {
			snapshot, _, err := w.stock.Snapshot(w.context(), entry.ID, entry.Epoch)
			w.must(err)
			all, err := w.queue.Entries(w.context())
			w.must(err)
			announced := slices.ContainsFunc(all, func(e sale.Entry) bool {
				return e.ID == entry.ID && e.Rev == entry.Rev && e.Paused == paused
			})
			return snapshot.Paused == paused && announced
		})
	}
	w.stopped(p)
	w.stopped(other)
}

func TestWorker_SettingAPauseAgainIsNoNewRev(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	first, err := w.store.SetPaused(w.context(), sale.Actor{Who: "test"}, w.entry.ID, true)
	w.must(err)
	again, err := w.store.SetPaused(w.context(), sale.Actor{Who: "test"}, w.entry.ID, true)
	w.must(err)
	if again.Rev != first.Rev || first.Rev != w.entry.Rev+1 {
		t.Errorf("revs %d, %d after %d", first.Rev, again.Rev, w.entry.Rev)
	}
}

func TestWorker_ExportsWhetherItsStoresAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	p := w.startWorker("")
	_, ops := w.urlsOf(p)
	for _, store := range []string{"redis", "nats", "postgres"} {
		w.eventually(store+" is up", func() bool {
			_, metrics := get(ops + "/metrics")
			return strings.Contains(metrics, `sluice_dependency_up{dependency="`+store+`"} 1`)
		})
	}
	w.stopped(p)
}

// changed is the world's sale as it was applied, and changed.
func (w *world) changed(change func(*pgstore.SaleConfig)) pgstore.Applied {
	w.t.Helper()
	c := pgstore.SaleConfig{Sale: w.entry.Sale}
	change(&c)
	applied, err := w.store.Apply(w.context(), pgstore.Catalogue{Sales: []pgstore.SaleConfig{c}})
	w.must(err)
	return applied.Sales[0]
}

// allowed is what Redis has for the sale's allow list.
func (w *world) allowed() []string {
	users, _, err := w.stock.AllowList(w.context(), w.entry.ID, w.entry.Epoch)
	w.must(err)
	slices.Sort(users)
	return users
}

// Whoever changed the sale died once Postgres had it, or once all but the list was brought.
func TestWorker_BringsWhatWasAppliedToRedisAndTheCatalogue(t *testing.T) {
	t.Parallel()
	for name, brought := range map[string]func(w *world, e sale.Entry){
		"nothing was brought": func(*world, sale.Entry) {},
		"all but the list": func(w *world, e sale.Entry) {
			_, _, err := w.stock.Configure(w.context(), e)
			w.must(err)
			_, err = w.queue.PutEntry(w.context(), e)
			w.must(err)
		},
		"a part of the list": func(w *world, e sale.Entry) {
			_, _, err := w.stock.Configure(w.context(), e)
			w.must(err)
			_, err = w.stock.StageAllow(w.context(), e, []string{"user-0001"})
			w.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 10)
			users := make([]string, 5000)
			for i := range users {
				users[i] = fmt.Sprintf("user-%04d", i)
			}
			p, other := w.startWorker(""), w.startWorker("")
			applied := w.changed(func(c *pgstore.SaleConfig) {
				c.Title, c.PerUserLimit, c.ClosesAt = "Other", 3, c.ClosesAt.Add(time.Hour)
				c.Eligibility.HasAllowList, c.AllowList = true, users
			})
			brought(w, applied.Entry)
			w.eventually("redis has the window and the list, the catalogue the title", func() bool {
				snapshot, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch)
				w.must(err)
				shown, _, err := w.queue.Announced(w.context(), w.entry.ID)
				w.must(err)
				return snapshot.Limit == 3 && snapshot.ClosesAt.Equal(applied.Entry.ClosesAt.Truncate(time.Millisecond)) &&
					shown.Title == "Other" && slices.Equal(w.allowed(), users)
			})
			w.changed(func(c *pgstore.SaleConfig) { c.PerUserLimit = 3 })
			w.eventually("the list is gone again", func() bool { return w.allowed() == nil })
			if snapshot, _, err := w.stock.Snapshot(w.context(), w.entry.ID, w.entry.Epoch); err != nil || snapshot.Stock != 10 {
				t.Errorf("stock is %d, %v", snapshot.Stock, err)
			}
			w.stopped(p)
			w.stopped(other)
		})
	}
}

func TestWorker_BringsBackAnAllowListThatRedisLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 10)
	w.changed(func(c *pgstore.SaleConfig) { c.Eligibility.HasAllowList, c.AllowList = true, []string{"ann", "bob"} })
	p := w.startWorker("")
	w.eventually("the list is there", func() bool { return len(w.allowed()) == 2 })
	w.stopped(p)
	options, err := redis.ParseURL(w.redisURL)
	w.must(err)
	raw := redis.NewClient(options)
	t.Cleanup(func() { _ = raw.Close() })
	w.must(raw.Del(w.context(), "sluice:{"+w.entry.ID+"}:1:allow").Err())
	p = w.startWorker("")
	w.eventually("the list is back", func() bool { return slices.Equal(w.allowed(), []string{"ann", "bob"}) })
	w.stopped(p)
}
