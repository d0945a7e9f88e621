package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/loadtest/internal/wait"
	"sluice/shared/devstack"
)

// halfMoved is for how long some keys of a sale are on one master and some on another.
const halfMoved = time.Second

// slotMovesAndMasterDies: where a sale is changes while it sells.
func slotMovesAndMasterDies() Row {
	return Row{
		ID: "37", Name: "slot-moves-and-master-dies", Bound: 30 * time.Second, Stack: clustered,
		Fault:  "Redis Cluster: the slot of the sale moves to another master, key by key, with a second half-way; then that master is killed, and its replica takes over",
		Expect: "scripts that meet MOVED, ASK or TRYAGAIN are sent again or answered 503, and take one unit each; the sale goes on at the other master, and at the replica",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, clusterUnits, clusterRate); err != nil {
				return err
			}
			r.inject()
			if err := r.moveSale(ctx); err != nil {
				return err
			}
			if err := r.goesOnAfter(ctx); err != nil {
				return err
			}
			killed := r.journal.Now()
			if err := r.killMaster(ctx); err != nil {
				return err
			}
			if err := r.goesOnAfter(ctx); err != nil {
				return err
			}
			r.paused(ctx, "the Redis master that the sale moved to", killed)
			return nil
		},
	}
}

// moveSale moves the sale's slot to another master under load.
func (r *Round) moveSale(ctx context.Context) error {
	from, err := r.redisMaster(ctx)
	if err != nil {
		return err
	}
	to, err := r.otherMaster(ctx, from)
	if err != nil {
		return err
	}
	answered := func() int64 { return r.load.accepted.Load() + r.load.unknown.Load() }
	var met int64
	err = r.stack.Cluster().Redis.MoveSlot(ctx, "{"+r.saleID+"}", to, func() {
		before := answered()
		wait.For(ctx, halfMoved)
		met = answered() - before
	})
	if err != nil {
		return err
	}
	r.hit(int(met), "%d attempts were answered while the sale was on two masters", met)
	return nil
}

// otherMaster is a master that does not have the sale.
func (r *Round) otherMaster(ctx context.Context, has *devstack.Server) (*devstack.Server, error) {
	var errs []error
	for i := range 64 {
		s, err := r.stack.Cluster().Redis.MasterOf(ctx, fmt.Sprintf("{other-%d}", i))
		if err == nil && s != has {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("there is no other master: %w", errors.Join(errs...))
}
