package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

// over applies a sale that is over and of which one unit was reserved, and handed
// over if so wanted.
func (b *bench) over(handedOver bool) string {
	b.t.Helper()
	id := newName()
	b.run("apply", b.file(saleText(id, alreadyOpen, "")))
	entry := b.entry(id)
	_, decided, err := b.redis.Reserve(b.t.Context(), id, entry.Epoch, []sale.Attempt{{RID: "0192f000-0000-7000-8000-" + strings.Repeat("0", 12), UserID: "ann"}})
	b.must(err)
	if handedOver {
		h := sale.HandOver{SaleID: id, Epoch: entry.Epoch, PriceMinor: 100, Currency: "CNY", Reservations: []sale.Reservation{decided[0].Ticket.Reservation}}
		_, err = b.queue.Publish(b.within(time.Minute), h)
		b.must(err)
		b.must(b.redis.HandedOver(b.t.Context(), id, entry.Epoch, []string{h.Reservations[0].RID}))
	}
	return id
}

func TestRetire_SaysEverythingThatKeepsASale(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.refuse("name the sales", "retire")
	b.refuse("no such sale", "retire", "unheard-of")
	id := b.over(true)
	for _, args := range [][]string{{"retire", id}, {"retire", "-dry-run", id}} {
		out := b.refuse("its retention is over only in", args...)
		_, err := b.try(args...)
		for _, reason := range []string{"1 have no outcome", "hand-overs are not acknowledged"} {
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("%v does not say %q: %v %s", args, reason, err, out)
			}
		}
	}
	if b.entry(id).Retired {
		t.Error("retired all the same")
	}
}

func TestRetire_TakesASaleOutOfTheStores(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(strings.ReplaceAll(saleText(id, alreadyOpen, ""), "2099", "2021")))
	if out := b.run("retire", "-dry-run", id); !strings.Contains(out, "can be retired") || b.entry(id).Retired {
		t.Errorf("dry run: %s, retired %v", out, b.entry(id).Retired)
	}
	b.runKilled("cleared", "retire", id)
	if e := b.entry(id); !e.Retired {
		t.Fatal("Postgres was not first")
	}
	for range 2 {
		if out := b.run("retire", id); !strings.Contains(out, "retired") {
			t.Error(out)
		}
	}
	keys, err := b.raw.Keys(t.Context(), "sluice:{"+id+"}:*").Result()
	b.must(err)
	if len(keys) > 0 {
		t.Errorf("left in Redis: %v", keys)
	}
	if e, known := b.announced(id); !known || !e.Retired {
		t.Errorf("announced %v, retired %v", known, e.Retired)
	}
	b.run("verify", id)
	b.run("load")
	b.run("apply", b.file(strings.ReplaceAll(saleText(id, alreadyOpen, ""), "2099", "2021")))
	if n, err := b.raw.Exists(t.Context(), "sluice:{"+id+"}:meta").Result(); err != nil || n != 0 {
		t.Errorf("a load brought it back: %d, %v", n, err)
	}
}

func (b *bench) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.t.Context()), d)
	b.t.Cleanup(cancel)
	return ctx
}
