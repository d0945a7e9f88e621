package main

import (
	"strings"
	"testing"

	"sluice/shared/sale"
)

func TestVerify_ShowsEveryDifference(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range map[string]struct {
		tamper func(b *bench, id string)
		want   string
	}{
		"more stock in redis": {func(b *bench, id string) {
			b.must(b.raw.Incr(b.t.Context(), "sluice:{"+id+"}:1:stock").Err())
		}, "redis: stock is 11, not 10"},
		"less stock in redis": {func(b *bench, id string) {
			b.must(b.raw.Decr(b.t.Context(), "sluice:{"+id+"}:1:stock").Err())
		}, "redis: stock is 9, not 10"},
		"another limit in redis": {func(b *bench, id string) {
			b.must(b.raw.HSet(b.t.Context(), "sluice:{"+id+"}:meta", "limit", 3).Err())
		}, "redis: per_user_limit is 3, not 1"},
		"another window in redis": {func(b *bench, id string) {
			b.must(b.raw.HSet(b.t.Context(), "sluice:{"+id+"}:meta", "opens_ms", 1000).Err())
		}, "redis: opens_at is 1970-01-01 00:00:01 +0000 UTC"},
		"paused in redis": {func(b *bench, id string) {
			b.must(b.raw.HSet(b.t.Context(), "sluice:{"+id+"}:meta", "paused", 1).Err())
		}, "redis: paused is true, not false"},
		"another epoch in redis": {func(b *bench, id string) {
			b.must(b.raw.HSet(b.t.Context(), "sluice:{"+id+"}:meta", "epoch", 5).Err())
		}, "redis: not live at epoch 1, is at 5"},
		"gone from redis": {func(b *bench, id string) { b.loseRedis(id) }, "redis: not live at epoch 1, is at 0"},
		"another price in the catalogue": {func(b *bench, id string) {
			entry := b.entry(id)
			entry.PriceMinor, entry.Rev = 99, entry.Rev+1
			_, err := b.queue.PutEntry(b.t.Context(), entry)
			b.must(err)
		}, "catalogue: price_minor is 99, not 100"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &bench{t, b.vars, b.postgres, b.redis, b.raw, b.queue}
			id := newName()
			b.run("apply", b.file(saleText(id, opensLater, "")))
			if out := b.run("verify", id); !strings.Contains(out, "same") {
				t.Fatalf("a fresh sale is not the same everywhere:\n%s", out)
			}
			c.tamper(b, id)
			if out := b.refuse("differ in 1 of 1 sales", "verify", id); !strings.Contains(out, c.want) {
				t.Errorf("table lacks %q:\n%s", c.want, out)
			}
		})
	}
}

func TestVerify_SaleThatIsNowhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if out := b.refuse("differ", "verify", newName()); !strings.Contains(out, "postgres: no such sale") {
		t.Errorf("table:\n%s", out)
	}
}

func TestVerify_ReservationUnderWayIsNoDifference(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(saleText(id, alreadyOpen, "")))
	r := reservation(t)
	_, decisions, err := b.redis.Reserve(t.Context(), id, 1, []sale.Attempt{{RID: r.RID, UserID: r.UserID}})
	b.must(err)
	if decisions[0].Code != sale.DecidedAccepted {
		t.Fatalf("the attempt got %+v", decisions[0])
	}
	b.run("verify", id)
	// While something is under way Redis may have less than what is free, never more.
	b.must(b.raw.IncrBy(t.Context(), "sluice:{"+id+"}:1:stock", 2).Err())
	if out := b.refuse("differ", "verify", id); !strings.Contains(out, "redis: stock is 11, not 10") {
		t.Errorf("table:\n%s", out)
	}
}
