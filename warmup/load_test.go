package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"sluice/shared/pgstore"
	"sluice/shared/sale"
)

// reservation is one that a gateway might have made.
func reservation(t *testing.T) sale.Reservation {
	t.Helper()
	rid, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	return sale.Reservation{RID: rid.String(), UserID: "ann", Slot: 1, Rank: 1, AcceptedAt: time.Now().Truncate(time.Millisecond)}
}

func TestLoad_ReplacesWhatRedisLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, kept := newName(), newName()
	b.run("apply", b.file(saleText(id, opensLater, ", eligibility: {allow_list: ids.txt}"), saleText(kept, opensLater, "")))
	b.loseRedis(id)
	b.refuse("differ", "verify", id)
	out := b.run("load")
	for _, want := range []string{id + ": loaded at epoch 2\n", kept + ": already loaded at epoch 1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("output %q lacks %q", out, want)
		}
	}
	b.run("verify", id, kept)
}

func TestLoad_LeavesALostSaleToWorkersUntilTheyHaveComparedPostgres(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(saleText(id, opensLater, "")))
	server, err := b.postgres.Server(t.Context())
	b.must(err)
	execute(t, b.vars["SLUICE_POSTGRES_URL"],
		`INSERT INTO server_checks (started_at, state) VALUES (now() - interval '1 day', 'current')`) // of before it was restored
	b.loseRedis(id)
	if out := b.run("load", id); !strings.Contains(out, id+": not live, left to the workers") {
		t.Errorf("output %q", out)
	}
	fresh := newName()
	if out := b.run("apply", b.file(saleText(fresh, opensLater, ""))); !strings.Contains(out, fresh+": loaded at epoch 1") {
		t.Errorf("output %q: a sale that was never loaded has nothing to lose", out)
	}
	server.State = pgstore.ServerCurrent
	b.must(b.postgres.NoteServer(t.Context(), server))
	if out := b.run("load", id); !strings.Contains(out, id+": loaded at epoch 2") {
		t.Errorf("output %q", out)
	}
}

func TestLoad_OpenSaleWaitsForHandOversUnderWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(saleText(id, alreadyOpen, "")))
	b.loseRedis(id)
	began := time.Now()
	b.run("load", id)
	if waited := time.Since(began); waited < sale.AnswersOver {
		t.Errorf("flipped after %v, want at least %v after the fence", waited, sale.AnswersOver)
	}
	b.run("verify", id)
}

func TestLoad_HandOverThatArrivesBehindTheFenceIsNotLost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(saleText(id, alreadyOpen, "")))
	b.loseRedis(id)
	failed := make(chan error, 1)
	go func() {
		_, err := b.try("load", "-timeout", "8s", id)
		failed <- err
	}()
	for b.entry(id).Epoch < 2 { // each look is a round trip
		if t.Context().Err() != nil {
			t.Fatal("the load never began")
		}
	}
	b.handOver(id, 1)
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "wait for a worker to order them") {
		t.Fatalf("error %v, want one that asks for a worker", err)
	}
	if _, _, err := b.redis.Snapshot(t.Context(), id, 2); err == nil {
		t.Error("the sale went live without the hand-over")
	}
}

func (b *bench) handOver(id string, epoch int64) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 10*time.Second)
	defer cancel()
	_, err := b.queue.Publish(ctx, sale.HandOver{
		SaleID: id, Epoch: epoch, PriceMinor: 100, Currency: "CNY", Reservations: []sale.Reservation{reservation(b.t)},
	})
	b.must(err)
}

func TestLoad_RebuildsASaleThatHasOrders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newName()
	b.run("apply", b.file(saleText(id, alreadyOpen, "")))
	ordered := reservation(t)
	_, err := b.postgres.Order(t.Context(), pgstore.Batch{
		SaleID: id, Epoch: 1, PriceMinor: 100, Currency: "CNY", Reservations: []sale.Reservation{ordered},
	})
	b.must(err)
	b.loseRedis(id)
	if out := b.run("load", id); !strings.Contains(out, id+": loaded at epoch 2\n") {
		t.Errorf("output %q", out)
	}
	snapshot, tickets, err := b.redis.Tickets(t.Context(), id, 2, []string{ordered.RID})
	b.must(err)
	if snapshot.Stock != 9 || tickets[0] == nil || tickets[0].Status != sale.StatusConfirmed {
		t.Errorf("stock %d, ticket %+v", snapshot.Stock, tickets[0])
	}
	b.run("verify", id)
}

func TestLoad_NextEpochIsAboveEverySurvivor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, announced := newName(), newName()
	file := b.file(saleText(id, opensLater, ""), saleText(announced, opensLater, ""))
	b.run("apply", file)
	b.must(b.raw.HSet(t.Context(), "sluice:{"+id+"}:meta", "epoch", 7).Err())
	entry := b.entry(announced)
	entry.Epoch = 9
	_, err := b.queue.PutEntry(t.Context(), entry)
	b.must(err)
	b.loseRedis(announced)
	b.run("load", id, announced)
	for id, want := range map[string]int64{id: 8, announced: 10} {
		if got := b.entry(id).Epoch; got != want {
			t.Errorf("sale %s is at epoch %d, want %d", id, got, want)
		}
	}
	b.run("verify", id, announced)
}

func TestLoad_RefusesUnknownSales(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.refuse("no such sale", "load", newName())
	b.refuse("only a-z, 0-9 and -", "load", "Phone")
}
