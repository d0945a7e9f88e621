package chaos

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/history"
	"sluice/loadtest/internal/record"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// surplus is the finding that Redis has sold units that Postgres does not have.
const surplus = "surplus"

// redisComesBackOldUnnoticed: what Redis says is believed; Postgres has the last word.
func redisComesBackOldUnnoticed() Row {
	return Row{
		ID: "12", Name: "redis-comes-back-old-unnoticed", Bound: 15 * time.Second,
		// Of slots, those are named last that Redis has free: the rest are like these.
		Shows: []string{surplus, "I2 audit: an order holds slot", "I2 audit: and ", "I7 and its ticket is gone", "I7 audit: and "},
		// Nothing but the round itself compares the stores, or a repair could come between.
		Stack:  Needs{Mutation: "run_id_check_off", Workers: "SLUICE_RECONCILE_EVERY=1h"},
		Fault:  "control: Redis is killed and comes back without the last of what it wrote, and nobody checks its run id",
		Expect: "it sells again what has orders: that is rejected as surplus, or as a duplicate, and alerted; nothing is oversold, nothing that was answered 202 vanishes; the audit misses what Redis has forgotten",
		Run: func(ctx context.Context, r *Round) error {
			rejected, err := r.sellTwice(ctx)
			if err != nil {
				return err
			}
			if rejected > 0 {
				r.fail(surplus, "%d reservations were rejected: Redis has sold their units twice", rejected)
			}
			return r.believe(ctx)
		},
	}
}

// sellTwice has Redis forget what it sold last, and sell out, and returns how many
// reservations were rejected as surplus, each of which must have been counted and alerted.
func (r *Round) sellTwice(ctx context.Context) (rejected int64, err error) {
	before, err := r.surplusCounted(ctx)
	if err != nil {
		return 0, err
	}
	forgotten, err := r.forget(ctx)
	if err != nil {
		return 0, err
	}
	r.heal()
	again := forgotten[:len(forgotten)/4]
	r.mayReject = func(o history.Order) bool {
		return o.Reason == "surplus" || o.Reason == "duplicate" && slices.ContainsFunc(again, func(w record.Winner) bool { return r.user(w.Buyer) == o.User })
	}
	for _, won := range again {
		r.load.attempt(ctx, won.Buyer, "") // who has an order: this one is a duplicate
	}
	r.load.goOn(ctx, killRate)
	if err := r.recovered(ctx); err != nil {
		return 0, err
	}
	err = r.until(ctx, hitPatience, "the sale is sold out", func() bool { return r.load.answers(sale.SoldOut.String()) > 0 })
	if err != nil {
		return 0, err
	}
	r.load.pause()
	if err := r.until(ctx, hitPatience, "every reservation has its row", func() bool { return r.allHaveRows(ctx) }); err != nil {
		return 0, err
	}
	held, err := r.stores.Postgres.Holdings(ctx, r.saleID, time.Minute)
	if err != nil {
		return 0, err
	}
	after, err := r.surplusCounted(ctx)
	if err != nil {
		return 0, err
	}
	if counted := int64(after - before); counted != held.Surplus {
		r.fail("alert", "%d reservations were rejected as surplus, and workers count %d", held.Surplus, counted)
	}
	if most := int64(len(forgotten)); held.Surplus > most {
		r.fail("I3", "%d reservations were rejected as surplus, and Redis has forgotten %d", held.Surplus, most)
	}
	return held.Surplus, r.surplusAlerted(ctx, held.Surplus)
}

// forget sells a part of the sale, and then some, which Redis is made to forget. At both
// moments all is at rest: what somebody waits for would be forgotten as well.
func (r *Round) forget(ctx context.Context) (forgotten []record.Winner, err error) {
	const units, kept = 600, 150
	if err := r.begin(ctx, units, killRate); err != nil {
		return nil, err
	}
	if err := r.accepting(ctx, kept); err != nil {
		return nil, err
	}
	r.load.pause()
	_, mark, err := appendOnlyFile(filepath.Join(r.stack.Info().Dir, "redis", "appendonlydir"))
	if err != nil {
		return nil, err
	}
	r.load.goOn(ctx, killRate)
	if err := r.accepting(ctx, r.load.accepted.Load()+50+r.random.Int64N(100)); err != nil {
		return nil, err
	}
	r.load.pause()
	r.inject()
	if err := r.stack.Restart(ctx, "redis", (*devstack.Server).Kill, func(s *devstack.Server) error { return cutTo(s, mark) }); err != nil {
		return nil, err
	}
	known, err := r.ticketsInRedis(ctx)
	if err != nil {
		return nil, err
	}
	sold := r.load.winners.All()
	forgotten = slices.DeleteFunc(slices.Clone(sold), func(w record.Winner) bool { return known[w.RID] })
	r.hit(len(forgotten), "Redis has forgotten %d of %d reservations", len(forgotten), len(sold))
	return forgotten, nil
}

// cutTo takes what Redis has appended since its file had that size.
func cutTo(s *devstack.Server, size int64) error {
	path, now, err := appendOnlyFile(s.DataDir())
	if err != nil {
		return err
	}
	if now <= size {
		return fmt.Errorf("the append only file has %d bytes, no more than before", now)
	}
	return os.Truncate(path, size)
}

// surplusCounted is how many reservations the workers say that they rejected as surplus.
func (r *Round) surplusCounted(ctx context.Context) (n float64, err error) {
	for _, worker := range r.stack.Info().Workers {
		w, err := collect.ReadWorker(ctx, worker.AdminURL)
		if err != nil {
			return 0, err
		}
		n += w.Surplus
	}
	return n, nil
}

// allHaveRows reports whether all reservations have theirs, also those that nobody follows
// because their attempts were answered 503.
func (r *Round) allHaveRows(ctx context.Context) bool {
	tickets, err := r.ticketsInRedis(ctx)
	if err != nil {
		return false
	}
	rows, err := r.count(ctx, `SELECT count(*) FROM orders WHERE sale_id = $1 AND id = ANY($2::text[]::uuid[])`, r.saleID, slices.Collect(maps.Keys(tickets)))
	return err == nil && rows == int64(len(tickets))
}

// surplusAlerted wants that a comparison of the stores finds the surplus, and that a person
// is called.
func (r *Round) surplusAlerted(ctx context.Context, rejected int64) error {
	worker := r.stack.Info().Workers[0]
	if err := collect.Reconcile(ctx, worker.AdminURL, r.stack.Info().Secrets.AdminToken); err != nil {
		return err
	}
	var w collect.Worker
	var err error
	alerted := r.until(ctx, hitPatience, "surplus is found and alerted", func() bool {
		w, err = collect.ReadWorker(ctx, worker.AdminURL)
		return err == nil && int64(w.Deviations["surplus_rejected"]) == rejected && w.Firing[string(sale.AlertSurplusRejected)]
	})
	if alerted != nil {
		r.fail("alert", "%d reservations were rejected as surplus; a comparison of the stores found %v, and these alerts fire: %v", rejected, w.Deviations, w.Firing)
	}
	return err
}

// believe has the scripts of the judge, which check the run id, take Redis for the process
// that made the sale live.
func (r *Round) believe(ctx context.Context) error {
	client, err := r.redisClient()
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // it wrote a field
	server, err := client.InfoMap(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("cannot read the run id of Redis: %w", err)
	}
	if err := client.HSet(ctx, "sluice:{"+r.saleID+"}:meta", "run_id", server["Server"]["run_id"]).Err(); err != nil {
		return fmt.Errorf("cannot write a run id: %w", err)
	}
	return nil
}
