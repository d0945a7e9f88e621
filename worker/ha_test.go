package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/shared/devstack"
	"sluice/shared/jetqueue"
	"sluice/shared/sale"
)

const haPatience = 3 * time.Minute // elections and failovers on a busy machine

// haWorld is a world on three nats-servers and on a Postgres with a synchronous standby.
type haWorld struct {
	*world
	nats     *devstack.NATSCluster
	postgres *devstack.PostgresPair
}

func newHAWorld(t *testing.T, total int64) *haWorld {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), haPatience)
	t.Cleanup(cancel)
	h := &haWorld{}
	var err error
	if h.nats, err = devstack.StartNATSCluster(ctx, devstack.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, h.nats.Close()) })
	if h.postgres, err = devstack.StartPostgresPair(ctx, devstack.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, h.postgres.Close()) })
	h.world = newWorldOn(t, total, serverURLs{
		redis: ownServer(t, devstack.StartRedis).URL(), postgres: h.postgres.URL(), nats: h.nats.URL(), replicas: 3,
	})
	h.must(h.nats.AwaitStream(ctx, jetqueue.StreamName))
	return h
}

func closed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// within is eventually for what takes an election or a failover.
func (h *haWorld) within(what string, ok func() bool) {
	h.t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > haPatience {
			h.t.Fatalf("not within %v: %s", haPatience, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
	h.t.Logf("%s after %v", what, time.Since(began).Round(10*time.Millisecond))
}

// flow reserves and hands over until stop. What is not acknowledged is the sweeper's.
type flow struct {
	mu       sync.Mutex
	reserved []sale.Reservation
	stop     func()
}

func (h *haWorld) flow() *flow {
	ctx, cancel := context.WithCancel(h.t.Context())
	f := &flow{}
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			some := h.reserve(5)
			f.mu.Lock()
			f.reserved = append(f.reserved, some...)
			f.mu.Unlock()
			call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			_, _ = h.queue.Publish(call, sale.HandOver{
				SaleID: h.entry.ID, Epoch: h.entry.Epoch, PriceMinor: h.entry.PriceMinor, Currency: h.entry.Currency, Reservations: some,
			})
			cancel()
			time.Sleep(20 * time.Millisecond)
		}
	})
	f.stop = func() { cancel(); running.Wait() }
	h.t.Cleanup(f.stop)
	return f
}

func (f *flow) all() []sale.Reservation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.reserved)
}

// goesOn waits until something that is reserved from now on is confirmed on its ticket.
func (h *haWorld) goesOn(f *flow, since string) {
	h.t.Helper()
	before := len(f.all())
	h.within("orders go on "+since, func() bool {
		now := f.all()[before:]
		if len(now) == 0 {
			return false
		}
		_, tickets, err := h.stock.Tickets(h.context(), h.entry.ID, h.entry.Epoch, []string{now[len(now)/2].RID})
		return err == nil && tickets[0] != nil && tickets[0].Status == sale.StatusConfirmed
	})
}

func TestHA_OrdersGoOnWithoutANATSLeaderAndThroughAFailover(t *testing.T) {
	t.Parallel()
	h := newHAWorld(t, 100_000)
	ctx, cancel := context.WithTimeout(t.Context(), haPatience)
	defer cancel()
	h.startWorker("")
	h.startWorker("")
	f := h.flow()
	h.goesOn(f, "at first")
	leader, err := h.nats.Leader(ctx, jetqueue.StreamName)
	h.must(err)
	h.must(leader.Kill())
	h.goesOn(f, "without the NATS leader")
	h.must(leader.Restart(ctx))
	h.must(h.postgres.Primary().Kill())
	h.must(h.postgres.Failover(ctx))
	h.goesOn(f, "after the failover of Postgres")
	h.must(h.postgres.Rejoin(ctx))
	h.goesOn(f, "with a standby again")
	h.must(h.nats.AwaitStream(ctx, jetqueue.StreamName))
	f.stop()
	reservations := f.all()
	h.within("every reservation is confirmed", func() bool { return h.countTickets(reservations)[sale.StatusConfirmed] == len(reservations) })
	h.wantOneOrderEach(reservations)
	h.wantAudited()
	if h.epoch() != h.entry.Epoch {
		t.Errorf("the sale was rebuilt though nothing was lost: epoch %d", h.epoch())
	}
}

func TestHA_FailoverThatLostItsTailIsRecovered(t *testing.T) {
	t.Parallel()
	for name, keepsRedis := range map[string]bool{"from the tickets": true, "from the stream alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHAWorld(t, 200)
			ctx, cancel := context.WithTimeout(t.Context(), haPatience)
			defer cancel()
			worker := h.startWorker("")
			reservations := h.confirmed(50)
			h.must(h.postgres.CutStandby(ctx))
			reservations = append(reservations, h.confirmed(50)...)
			if !keepsRedis {
				h.stopped(worker)
				h.flushRedis()
			}
			h.must(h.postgres.Failover(ctx))
			if !keepsRedis {
				worker = h.startWorker("")
			}
			h.within("the sale is live again", func() bool {
				e, err := h.store.Entry(h.context(), h.entry.ID)
				if err != nil || e.Rebuilding || e.Epoch <= h.entry.Epoch {
					return false
				}
				_, _, err = h.stock.Snapshot(h.context(), e.ID, e.Epoch)
				h.entry = e
				return err == nil
			})
			if !strings.Contains(worker.log.String(), "postgres is behind the other stores") {
				t.Error("nobody noticed that the tail is gone")
			}
			h.wantOneOrderEach(reservations)
			reservations = append(reservations, h.confirmed(50)...)
			h.wantOneOrderEach(reservations)
			h.wantAudited()
		})
	}
}

// No ticket and no hand-over tells of what is lost here.
func TestHA_FailoverThatLostWhatNoTicketTellsIsRecovered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose func(h *haWorld, buyers, ops string)
		back string // SQL that counts it
	}{
		"a payment event": {func(h *haWorld, buyers, _ string) {
			h.deliver(provider(buyers), eventOf(sale.PaymentFailed, "01935fd2-d6eb-7592-aa3e-cd665a5d9b60"))
		}, `SELECT count(*) FROM payments`},
		"units that were added": {func(h *haWorld, _, ops string) {
			if status := h.adjust(ops, "more", 7); status != 200 {
				h.t.Fatalf("adjusted: %d", status)
			}
		}, `SELECT count(*) FROM stock_adjustments`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHAWorld(t, 200)
			ctx, cancel := context.WithTimeout(t.Context(), haPatience)
			defer cancel()
			worker, buyers, ops := h.startPaid("", "-admin-token", adminToken)
			reservations := h.confirmed(10)
			h.must(h.postgres.CutStandby(ctx))
			c.lose(h, buyers, ops)
			h.within("it is stored, and acknowledged", func() bool {
				known, err := h.queue.AcknowledgedPayments(h.context(), 10)
				return h.count(c.back) == 1 && (len(known) == 1 || err == nil && strings.Contains(c.back, "stock"))
			})
			h.must(h.postgres.Failover(ctx))
			h.within("it is back", func() bool { return strings.Contains(worker.log.String(), "postgres has back") && h.count(c.back) == 1 })
			h.wantOneOrderEach(append(reservations, h.confirmed(10)...))
			h.wantAudited()
		})
	}
}

// count is what SQL counts, -1 while Postgres does not answer.
func (h *haWorld) count(sql string) (n int) {
	conn, err := pgx.Connect(h.context(), h.postgresURL)
	if err != nil {
		return -1
	}
	defer func() { _ = conn.Close(context.WithoutCancel(h.t.Context())) }()
	if err := conn.QueryRow(h.context(), sql).Scan(&n); err != nil {
		return -1
	}
	return n
}

// confirmed sells n units and waits until their tickets say so.
func (h *haWorld) confirmed(n int) []sale.Reservation {
	h.t.Helper()
	reservations := h.reserve(n)
	h.handOver(reservations)
	h.within("some are confirmed", func() bool { return h.countTickets(reservations)[sale.StatusConfirmed] == n })
	return reservations
}
