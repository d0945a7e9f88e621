package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"sluice/shared/devstack"
	"sluice/shared/failpoint"
	"sluice/shared/load"
	"sluice/shared/pgstore"
	"sluice/shared/sale"
	"sluice/shared/service"
)

func TestApply_BringsSalesToAllThreeStores(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	open, closed := newName(), newName()
	file := b.file(
		saleText(open, alreadyOpen, ", per_user_limit: 2, eligibility: {allow_list: ids.txt}"),
		strings.Replace(saleText(closed, alreadyOpen, ""), "2099", "2021", 1),
	)
	out := b.run("apply", file)
	for _, want := range []string{open + ": created\n", closed + ": created\n", open + ": loaded at epoch 1\n", closed + ": loaded at epoch 1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
	snapshot, _, err := b.redis.Snapshot(t.Context(), open, 1)
	b.must(err)
	if snapshot.Stock != 10 || snapshot.Total != 10 || snapshot.Limit != 2 || snapshot.SoldOut {
		t.Errorf("redis has %+v", snapshot)
	}
	allowed, err := b.raw.SMembers(t.Context(), "sluice:{"+open+"}:1:allow").Result()
	b.must(err)
	if len(allowed) != 2 {
		t.Errorf("redis allows %q, want ann and bob", allowed)
	}
	shown, known := b.announced(open)
	if !known || shown.Epoch != 1 || shown.Rebuilding || shown.PerUserLimit != 2 {
		t.Errorf("the catalogue has %+v", shown)
	}
	b.run("verify", open, closed)
}

func TestApply_RepeatedChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	file := b.file(saleText(id, alreadyOpen, ", hold: 90s, eligibility: {min_account_age: 720h, tags: [b, a]}"))
	b.run("apply", file)
	before := b.entry(id)
	out := b.run("apply", file)
	if want := id + ": unchanged\n" + id + ": already loaded at epoch 1\n"; out != want {
		t.Errorf("output %q, want %q", out, want)
	}
	if after := b.entry(id); after.Epoch != before.Epoch || after.Rev != before.Rev {
		t.Errorf("epoch and rev moved from %d, %d to %d, %d", before.Epoch, before.Rev, after.Epoch, after.Rev)
	}
	b.run("verify", id)
}

func TestApply_ResumesAfterAKillAtAnyPoint(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, point := range []string{pointApplied, load.Begun, load.Fenced, load.Flipped, load.Finished} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := &bench{t, b.vars, b.postgres, b.redis, b.raw, b.queue}
			id := newName()
			file := b.file(saleText(id, opensLater, ", eligibility: {allow_list: ids.txt}"))
			b.runKilled(point, "apply", file)
			if entry := b.entry(id); entry.ID != id {
				t.Fatal("the kill came before the catalogue was written")
			}
			if point != load.Flipped { // then only Postgres has not heard of it
				b.refuse("differ", "verify", id)
			}
			b.run("apply", file)
			b.run("verify", id)
			if shown, known := b.announced(id); !known || shown.Rebuilding || shown.Epoch < 1 {
				t.Errorf("the catalogue has %+v", shown)
			}
		})
	}
}

func TestApply_KilledTwiceStillResumes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	file := b.file(saleText(id, opensLater, ""))
	b.runKilled(load.Fenced, "apply", file)
	b.runKilled(load.Flipped, "apply", file)
	b.runKilled(load.Finished, "apply", file)
	b.run("apply", file)
	b.run("verify", id)
	if epoch := b.entry(id).Epoch; epoch != 2 {
		t.Errorf("epoch %d, want 2: the load that was flipped is finished, not repeated", epoch)
	}
}

func TestApply_BadFileChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good, bad := newName(), newName()
	file := b.file(saleText(good, alreadyOpen, ""), saleText(bad, alreadyOpen, ", per_user_limit: 0"))
	b.refuse("sales[1].per_user_limit: must be 1..20, is 0 (line 3)", "apply", file)
	b.expectNothing(good, bad)
	b.refuse("no such file", "apply", filepath.Join(filepath.Dir(file), "absent.yaml"))
	b.must(os.Remove(filepath.Join(filepath.Dir(file), "ids.txt")))
	b.refuse("allow_list: cannot read allow list", "apply", b.fileWithout("ids.txt", saleText(good, alreadyOpen, ", eligibility: {allow_list: ids.txt}")))
	b.expectNothing(good, bad)
}

// fileWithout is file with one of the files beside it removed.
func (b *bench) fileWithout(name string, sales ...string) string {
	path := b.file(sales...)
	b.must(os.Remove(filepath.Join(filepath.Dir(path), name)))
	return path
}

func (b *bench) expectNothing(ids ...string) {
	b.t.Helper()
	for _, id := range ids {
		if _, err := b.postgres.Entry(b.t.Context(), id); !errors.Is(err, pgstore.ErrNoSale) {
			b.t.Errorf("postgres knows sale %s: %v", id, err)
		}
		if keys := b.raw.Keys(b.t.Context(), "sluice:{"+id+"}:*").Val(); len(keys) > 0 {
			b.t.Errorf("redis has %q", keys)
		}
		if _, known := b.announced(id); known {
			b.t.Errorf("the catalogue has sale %s", id)
		}
	}
}

func TestApply_WhatALoadedSaleKeepsIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, other := newName(), newName()
	b.run("apply", b.file(saleText(id, alreadyOpen, "")))
	changed := strings.NewReplacer("price: 100", "price: 99", "total: 10", "total: 11").Replace(saleText(id, alreadyOpen, ", weight: 2"))
	file := b.file(saleText(other, alreadyOpen, ""), changed)
	for _, args := range [][]string{{"apply", file}, {"apply", "-dry-run", file}} {
		b.refuse("nothing was changed: sale "+id+": total: 10 → 11: ", args...)
		b.refuse("POST /admin/v1/sales/"+id+"/stock", args...)
		b.refuse("price: 100 → 99: ", args...)
	}
	b.expectNothing(other)
	if e := b.entry(id); e.Weight != 1 {
		t.Errorf("the weight is %d", e.Weight)
	}
	b.run("verify", id)
}

// allowed is what Redis has for the sale's allow list.
func (b *bench) allowed(id string) []string {
	b.t.Helper()
	users, _, err := b.redis.AllowList(b.t.Context(), id, b.entry(id).Epoch)
	b.must(err)
	slices.Sort(users)
	return users
}

// list writes the users that a sales file's allow list names.
func (b *bench) list(file string, users ...string) {
	b.t.Helper()
	b.must(os.WriteFile(filepath.Join(filepath.Dir(file), "ids.txt"), []byte(strings.Join(users, "\n")), 0o600))
}

func TestApply_ChangesALoadedSaleInAllStores(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(saleText(id, alreadyOpen, "")))
	_, _, err := b.redis.Reserve(t.Context(), id, 1, []sale.Attempt{{RID: uuid.Must(uuid.NewV7()).String(), UserID: "zoe"}})
	b.must(err)
	file := b.file(saleText(id, opensLater, ", weight: 2, per_user_limit: 3, hold: 1m, mode: instant, rebuy_after_release: false, eligibility: {tags: [vip], allow_list: ids.txt}"))
	before := b.entry(id)
	out := b.run("apply", "-dry-run", file)
	want := []string{"  opens_at: 2020-01-01T00:00:00Z → 2098-01-01T00:00:00Z\n", "  weight: 1 → 2\n", "  per_user_limit: 1 → 3\n", "  hold: 15m0s → 1m0s\n",
		"  mode: queued → instant\n", "  rebuy_after_release: true → false\n", `  eligibility.tags: [] → ["vip"]` + "\n",
		"  eligibility.allow_list: everybody → 2 users (2 added, 0 removed)\n"}
	for _, part := range append(want, id+": would be updated\n") {
		if !strings.Contains(out, part) {
			t.Errorf("the dry run lacks %q:\n%s", part, out)
		}
	}
	if e := b.entry(id); e.Rev != before.Rev {
		t.Errorf("a dry run made rev %d", e.Rev)
	}
	out = b.run("apply", file)
	for _, part := range append(want, id+": updated\n", id+": already loaded at epoch 1\n") {
		if !strings.Contains(out, part) {
			t.Errorf("output lacks %q:\n%s", part, out)
		}
	}
	snapshot, _, err := b.redis.Snapshot(t.Context(), id, 1)
	b.must(err)
	if snapshot.Stock != 9 || snapshot.Rank != 1 || snapshot.Limit != 3 || snapshot.OpensAt.Year() != 2098 {
		t.Errorf("redis has %+v", snapshot)
	}
	if users := b.allowed(id); !slices.Equal(users, []string{"ann", "bob"}) {
		t.Errorf("redis allows %v", users)
	}
	if shown, _ := b.announced(id); shown.Weight != 2 || shown.Mode != sale.ModeInstant || shown.Epoch != 1 {
		t.Errorf("the catalogue has %+v", shown)
	}
	b.list(file, "ann", "cy")
	if out := b.run("apply", file); !strings.Contains(out, "  eligibility.allow_list: 2 users → 2 users (1 added, 1 removed)\n") {
		t.Errorf("output %q", out)
	}
	if users := b.allowed(id); !slices.Equal(users, []string{"ann", "cy"}) {
		t.Errorf("redis allows %v", users)
	}
	b.run("apply", b.file(saleText(id, opensLater, ", per_user_limit: 3")))
	if users := b.allowed(id); users != nil {
		t.Errorf("without a list redis allows %v", users)
	}
}

func TestApply_OfAChangeIsFinishedAfterAKill(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, point := range []string{pointApplied, pointConfigured} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := &bench{t, b.vars, b.postgres, b.redis, b.raw, b.queue}
			id := newName()
			b.run("apply", b.file(saleText(id, alreadyOpen, ", eligibility: {allow_list: ids.txt}")))
			file := b.file(saleText(id, opensLater, ", weight: 5, eligibility: {allow_list: ids.txt}"))
			b.list(file, "cy")
			b.runKilled(point, "apply", file)
			if users := b.allowed(id); !slices.Equal(users, []string{"ann", "bob"}) {
				t.Errorf("killed at %s: redis allows %v", point, users)
			}
			if out := b.run("apply", file); !strings.HasPrefix(out, id+": unchanged\n") {
				t.Errorf("output %q", out)
			}
			if users := b.allowed(id); !slices.Equal(users, []string{"cy"}) {
				t.Errorf("redis allows %v", users)
			}
			if shown, _ := b.announced(id); shown.Weight != 5 {
				t.Errorf("the catalogue has %+v", shown)
			}
			b.run("verify", id)
		})
	}
}

func TestApply_BesideAnotherEndsWithWhatPostgresSays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(saleText(id, alreadyOpen, "")))
	var group sync.WaitGroup
	for i := range 6 {
		file := b.file(saleText(id, alreadyOpen, fmt.Sprintf(", weight: %d, eligibility: {allow_list: ids.txt}", i+2)))
		b.list(file, "ann", fmt.Sprintf("user-%d", i+2))
		group.Go(func() {
			if out, err := b.try("apply", file); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	group.Wait()
	e := b.entry(id)
	if users := b.allowed(id); !slices.Equal(users, []string{"ann", fmt.Sprintf("user-%d", e.Weight)}) {
		t.Errorf("weight %d, redis allows %v", e.Weight, users)
	}
	b.run("verify", id)
}

func TestRebuild_TheNewestAllowListIsLoaded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	file := b.file(saleText(id, alreadyOpen, ", eligibility: {allow_list: ids.txt}"))
	b.run("apply", file)
	b.list(file, "cy", "dee")
	b.run("apply", file)
	b.loseRedis(id)
	b.run("load", id)
	if users := b.allowed(id); !slices.Equal(users, []string{"cy", "dee"}) || b.entry(id).Epoch != 2 {
		t.Errorf("redis allows %v", users)
	}
	b.must(b.raw.Del(t.Context(), "sluice:{"+id+"}:2:allow").Err()) // the list alone
	b.refuse("differ", "verify", id)
	b.run("load", id)
	if users := b.allowed(id); !slices.Equal(users, []string{"cy", "dee"}) {
		t.Errorf("redis allows %v", users)
	}
	b.run("verify", id)
}

func TestApply_AnnouncesTheTitleOfEachLanguage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.runKilled(pointApplied, "apply", b.file(saleText(id, opensLater, "")))
	file := b.file(strings.Replace(saleText(id, opensLater, ""), "title: Phone", "title: {en: Phone, zh: 手机}", 1))
	if out := b.run("apply", file); !strings.Contains(out, id+": updated\n  title.zh: \"\" → \"手机\"\n") {
		t.Errorf("output %q", out)
	}
	shown, _ := b.announced(id)
	if shown.Title != "Phone" || shown.TitleIn("zh") != "手机" {
		t.Errorf("the catalogue has the titles %q, %q", shown.Title, shown.Titles)
	}
	if out := b.run("apply", file); !strings.Contains(out, id+": unchanged\n") {
		t.Errorf("output %q", out)
	}
	b.run("verify", id)
}

func TestApply_SaleThatIsNotLoadedMayChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.runKilled(pointApplied, "apply", b.file(saleText(id, opensLater, "")))
	out := b.run("apply", b.file(strings.Replace(saleText(id, opensLater, ""), "total: 10", "total: 7", 1)))
	if !strings.Contains(out, id+": updated\n  total: 10 → 7\n") {
		t.Errorf("output %q", out)
	}
	snapshot, _, err := b.redis.Snapshot(t.Context(), id, 1)
	b.must(err)
	if snapshot.Stock != 7 {
		t.Errorf("stock is %d, want 7", snapshot.Stock)
	}
	b.run("verify", id)
}

func TestApply_StoreOutOfReachChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	file := b.file(saleText(id, alreadyOpen, ""))
	b.refuse("cannot reach redis", "apply", file, "-redis-url", "redis://127.0.0.1:1/0")
	b.refuse("cannot connect to NATS", "apply", file, "-nats-url", "nats://127.0.0.1:1", "-timeout", "300ms")
	b.refuse("cannot reach postgres", "apply", file, "-postgres-url", "postgres://127.0.0.1:1/postgres", "-timeout", "10s")
	b.expectNothing(id)
}

func TestApply_AsksForMigrateFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.refuse("run warmup migrate", "apply", b.file(saleText(newName(), alreadyOpen, "")), "-postgres-url", newSchema(t))
}

func TestApply_AnotherLoaderHoldsTheSale(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, other := newName(), newName()
	unlock, err := b.postgres.LockSale(t.Context(), id)
	b.must(err)
	file := b.file(saleText(id, opensLater, ""), saleText(other, opensLater, ""))
	b.refuse("locked by another process", "apply", file)
	b.run("verify", other) // one sale's error does not keep the others back
	unlock()
	b.run("apply", file)
	b.run("verify", id, other)
}

func TestApply_OfAChangeNeedsNoLock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(saleText(id, alreadyOpen, "")))
	unlock, err := b.postgres.LockSale(t.Context(), id)
	b.must(err)
	defer unlock()
	if out := b.run("apply", b.file(saleText(id, opensLater, ", weight: 3"))); !strings.Contains(out, id+": another process is at it") {
		t.Errorf("output %q", out)
	}
	b.run("verify", id)
}

func TestMigrate_RepeatedChangesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if out := b.run("migrate"); !strings.HasPrefix(out, "schema: 0 migrations applied") {
		t.Errorf("output %q", out)
	}
}

func TestMigrate_RefusesBadLimits(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-stream-replicas", "2"}, {"-stream-max-bytes", "1"}, {"-stream-max-messages", "-1"}, {"-timeout", "0s"}} {
		_, err := (&bench{t: t}).try(append([]string{"migrate", "-postgres-url", "postgres://127.0.0.1:1/x"}, args...)...)
		if !errors.Is(err, service.ErrUsage) || !strings.Contains(err.Error(), args[0]) {
			t.Errorf("%v: error %v, want a usage error that names the flag", args, err)
		}
	}
}

func TestApply_RefusesMoreThanTheStreamMayHold(t *testing.T) {
	t.Parallel()
	server, err := devstack.StartNATS(t.Context(), devstack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	b := newBenchOn(t, server.URL())
	b.run("migrate", "-stream-max-bytes", strconv.Itoa(4<<20))
	small, large := newName(), newName()
	file := b.file(saleText(small, opensLater, ""), strings.Replace(saleText(large, opensLater, ""), "total: 10", "total: 10000", 1))
	b.refuse("-stream-max-bytes (SLUICE_STREAM_MAX_BYTES)", "apply", file)
	b.refuse("the most is 10000, of sale "+large, "apply", file)
	if entries, err := b.postgres.Entries(t.Context()); err != nil || len(entries) != 0 {
		t.Errorf("%d sales were written, %v", len(entries), err)
	}
	b.run("apply", b.file(saleText(small, opensLater, "")))
	b.refuse("2 sales", "apply", b.file(strings.Replace(saleText(large, opensLater, ""), "total: 10", "total: 10000", 1)))
	b.run("apply", "-oversubscribe", file)
	b.run("apply", file) // it adds nothing
	b.run("migrate", "-stream-max-bytes", strconv.Itoa(64<<20))
	b.run("apply", b.file(strings.Replace(saleText(newName(), opensLater, ""), "total: 10", "total: 10000", 1)))
}

func TestApply_ASaleThatFailsKeepsNoNewOneBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	old, fresh := newName(), newName()
	b.run("apply", b.file(saleText(old, opensLater, "")))
	file := b.file(saleText(old, opensLater, ", weight: 2"), saleText(fresh, opensLater, ""))
	b.vars[failpoint.Variable] = pointConfigured + "=error"
	b.refuse(pointConfigured, "apply", file)
	if epoch := b.entry(fresh).Epoch; epoch != 1 {
		t.Errorf("the new sale is at epoch %d, want 1: loaded", epoch)
	}
	delete(b.vars, failpoint.Variable)
	b.run("apply", file)
	b.run("verify", old, fresh)
}
