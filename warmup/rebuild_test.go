package main

import (
	"strings"
	"testing"

	"sluice/shared/sale"
)

func TestRebuild_SaysThatNoWorkerTookItAndKeepsTheRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(saleText(id, opensLater, "")))
	b.refuse("no worker took the rebuild", "rebuild", "-timeout", "1s", id)
	b.refuse("no worker took the rebuild", "rebuild", "-timeout", "1s", id)
	if e := b.entry(id); !e.Rebuilding || e.Epoch != 2 {
		t.Errorf("requested twice, the sale is %+v", e)
	}
	unlock, err := b.postgres.LockSale(t.Context(), id)
	b.must(err)
	b.refuse("a worker is at it", "rebuild", "-timeout", "1s", id)
	unlock()
}

func TestRebuild_WaitsForWhoeverRunsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(saleText(id, alreadyOpen, "")))
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := b.try("rebuild", id)
		done <- result{out, err}
	}()
	for !b.entry(id).Rebuilding { // each look is a round trip
		if t.Context().Err() != nil {
			t.Fatal("never requested")
		}
	}
	b.run("load", id)
	got := <-done
	b.must(got.err)
	if !strings.Contains(got.out, id+": rebuilt at epoch 2 in ") {
		t.Errorf("output %q", got.out)
	}
	if log, err := b.postgres.AuditLog(t.Context(), id, sale.Page{Limit: 10}); err != nil || len(log) != 1 || log[0].By.Who != "warmup" || log[0].Action != sale.ActionRebuild {
		t.Errorf("audit log %+v, %v", log, err)
	}
	if shown, _ := b.announced(id); shown.Epoch != 2 || shown.Rebuilding {
		t.Errorf("announced %+v", shown)
	}
	if keys, err := b.raw.Keys(t.Context(), "sluice:{"+id+"}:1:*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("of epoch 1 there stay %v, %v", keys, err)
	}
	if _, _, err := b.redis.Reserve(t.Context(), id, 2, []sale.Attempt{{RID: reservation(t).RID, UserID: "ann"}}); err != nil {
		t.Error(err)
	}
}

func TestRebuild_RefusesWhatCannotBeRebuilt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.refuse("no such sale", "rebuild", newName())
	b.refuse("name the sales", "rebuild")
	b.refuse("only a-z, 0-9 and -", "rebuild", "Phone")
}
