package main

import (
	"slices"
	"strings"
	"testing"

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
