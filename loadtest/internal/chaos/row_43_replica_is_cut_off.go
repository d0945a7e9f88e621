package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/loadtest/internal/stack"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

const (
	replicaUnits  = 100
	replicaBuyers = 2000
)

// replicaIsCutOff: a Redis that writes nothing, and one that starts again, before a crowd.
func replicaIsCutOff() Row {
	return Row{
		ID: "43", Name: "replica-is-cut-off", Bound: 25 * time.Second,
		// So little is let through that the stock lasts for some seconds.
		Stack:  Needs{Replica: true, Gateways: "SLUICE_ADMIT_SALE_RATE=25"},
		Fault:  fmt.Sprintf("%d buyers want one of %d units, while the replica without which Redis refuses to write is cut off; then Redis is killed in the middle of the sale", replicaBuyers, replicaUnits),
		Expect: "503 while writes are refused; it goes on by itself after each; everybody has an answer, and there are as many orders as units",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.open(ctx, saleOf{units: replicaUnits}); err != nil {
				return err
			}
			if err := r.refuseWrites(ctx); err != nil {
				return err
			}
			if err := r.accepting(ctx, 10+r.random.Int64N(60)); err != nil {
				return err
			}
			if err := r.stack.Restart(ctx, "redis", (*devstack.Server).Kill, func(*devstack.Server) error { return nil }); err != nil {
				return err
			}
			r.heal()
			r.hit(1, "Redis was killed with %d units sold", r.load.accepted.Load())
			return r.everybodyIsAnswered(ctx)
		},
	}
}

// refuseWrites has the crowd come while Redis refuses to write.
func (r *Round) refuseWrites(ctx context.Context) error {
	link := r.stack.Proxy(stack.RedisReplica)
	r.inject()
	link.Cut()
	defer link.Heal()
	var err error
	refuses := r.until(ctx, hitPatience, "Redis has no replica left", func() bool {
		var good string
		good, err = r.goodReplicas(ctx)
		return err == nil && good == "0"
	})
	if refuses != nil {
		return fmt.Errorf("%w: %w", refuses, err)
	}
	r.load = r.newLoad(replicaBuyers)
	r.load.insist(ctx, replicaBuyers)
	unavailable := func() int { return r.load.answers(sale.Unavailable.String()) }
	if err := r.until(ctx, hitPatience, "attempts are answered 503", func() bool { return unavailable() >= 50 }); err != nil {
		return err
	}
	if n := r.load.accepted.Load(); n > 0 {
		r.fail("I8", "%d attempts were accepted by a Redis that refuses to write", n)
	}
	if n := r.load.answers(sale.SoldOut.String()); n > 0 {
		r.fail("I9", "%d attempts were told that a sale in stock is sold out", n)
	}
	r.hit(unavailable(), "%d attempts were let through and answered 503 while Redis refused to write", unavailable())
	return nil
}

// goodReplicas is how many replicas Redis says that it may count on.
func (r *Round) goodReplicas(ctx context.Context) (string, error) {
	client, err := r.redisClient()
	if err != nil {
		return "", err
	}
	defer func() { _ = client.Close() }() // it only read
	replication, err := client.InfoMap(ctx, "replication").Result()
	if err != nil {
		return "", fmt.Errorf("cannot ask Redis for its replicas: %w", err)
	}
	return strings.TrimSpace(replication["Replication"]["min_slaves_good_slaves"]), nil
}

// everybodyIsAnswered waits until nobody tries any more, and wants every unit sold.
func (r *Round) everybodyIsAnswered(ctx context.Context) error {
	err := r.recoveredOnce(ctx, "everybody has a certain answer", func() bool { return r.load.certain.Load() == replicaBuyers })
	if err != nil {
		return fmt.Errorf("%w: %d of %d have", err, r.load.certain.Load(), replicaBuyers)
	}
	r.load.pause()
	held, err := r.stores.Postgres.Holdings(ctx, r.saleID, time.Minute)
	if err != nil {
		return err
	}
	if held.Holding != replicaUnits {
		r.fail("I9", "%d of %d units are sold, and everybody was told that none is left", held.Holding, replicaUnits)
	}
	return nil
}
