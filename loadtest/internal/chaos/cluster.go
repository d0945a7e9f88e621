package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/shared/devstack"
	"sluice/shared/jetqueue"
)

const (
	clusterUnits = 50_000
	clusterRate  = 100 // attempts a second
)

// clustered are the needs of rows whose stores are clusters. Gateways serve on for as long
// as a proxy may take to notice that they end.
var clustered = Needs{Cluster: true, Gateways: "SLUICE_DRAIN=1s"}

// takeOver has what killed is there for done by another: another is who does it now.
func (r *Round) takeOver(ctx context.Context, what string, killed *devstack.Server, now func(context.Context) (*devstack.Server, error)) error {
	var last error
	err := r.until(ctx, hitPatience, what, func() bool {
		var s *devstack.Server
		s, last = now(ctx)
		return last == nil && s != killed
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// redisMaster is the server that has the sale.
func (r *Round) redisMaster(ctx context.Context) (*devstack.Server, error) {
	return r.stack.Cluster().Redis.MasterOf(ctx, "{"+r.saleID+"}")
}

// natsLeader is the server that leads the stream of hand-overs.
func (r *Round) natsLeader(ctx context.Context) (*devstack.Server, error) {
	return r.stack.Cluster().NATS.Leader(ctx, jetqueue.StreamName)
}

func (r *Round) postgresPrimary(context.Context) (*devstack.Server, error) {
	return r.stack.Cluster().Postgres.Primary(), nil
}

// killMaster has the Redis master of the sale die, and come back once a replica has taken
// over: with one replica a master, the new one has none until then and refuses to write.
func (r *Round) killMaster(ctx context.Context) error {
	master, err := r.redisMaster(ctx)
	if err != nil {
		return err
	}
	start, err := r.stack.HoldDown(master)
	if err != nil {
		return err
	}
	taken := r.takeOver(ctx, "a replica takes over", master, r.redisMaster)
	if err := errors.Join(taken, start(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	r.hit(1, "the master of the sale was killed, and a replica took over")
	return nil
}

// killLeader has the NATS server that leads the stream of hand-overs die, and come back once
// another leads and the sale goes on.
func (r *Round) killLeader(ctx context.Context) error {
	leader, err := r.natsLeader(ctx)
	if err != nil {
		return err
	}
	start, err := r.stack.HoldDown(leader)
	if err != nil {
		return err
	}
	killed := time.Now()
	taken := r.takeOver(ctx, "another server leads", leader, r.natsLeader)
	if taken == nil {
		taken = r.until(ctx, hitPatience, "the sale goes on without the third server", func() bool { return r.load.goesOn(killed) })
	}
	if err := errors.Join(taken, start(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	r.hit(1, "the leader of the stream was killed, and another led")
	return nil
}

// killPrimary has the Postgres primary die, and its standby promoted by whoever watches it.
func (r *Round) killPrimary(ctx context.Context) error {
	primary := r.stack.Cluster().Postgres.Primary()
	if err := primary.Kill(); err != nil {
		return err
	}
	if err := r.takeOver(ctx, "the standby is promoted", primary, r.postgresPrimary); err != nil {
		return err
	}
	r.hit(1, "the primary was killed, and its standby promoted")
	return nil
}

// goesOnAfter heals, waits until the sale goes on, and until nothing is missing that was
// lost. The slowest recovery is the round's.
func (r *Round) goesOnAfter(ctx context.Context) error {
	slowest := r.recovery
	r.heal()
	if err := r.recovered(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	r.recovery = max(r.recovery, slowest)
	r.mu.Unlock()
	if err := r.stack.AwaitHA(ctx); err != nil {
		return fmt.Errorf("the stores are not what they were: %w", err)
	}
	return nil
}
