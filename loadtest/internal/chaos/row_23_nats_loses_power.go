package chaos

import (
	"context"
	"errors"
	"time"

	"sluice/shared/devstack"
)

// natsLosesPower: what JetStream has acknowledged is on the disk.
func natsLosesPower() Row {
	return Row{
		ID: "23", Name: "nats-loses-power", Bound: 20 * time.Second, Stack: Needs{Disk: powerDisk},
		Fault:  "a machine with NATS, Redis and the workers loses its power: no order was made of the last that were answered 202, Redis comes back empty, NATS without anything that was not synced",
		Expect: "nothing answered 202 is missing",
		Run:    func(ctx context.Context, r *Round) error { return r.losesPower(ctx) },
	}
}

// natsLosesPowerUnsynced is the control: it shows that the power really goes.
func natsLosesPowerUnsynced() Row {
	return Row{
		ID: "23c", Name: "nats-loses-power-unsynced", Bound: 20 * time.Second, Stack: Needs{Disk: powerDisk, NATSSync: "2m"}, Shows: []string{"I3 no store knows it", "I3 audit: and ", "I3 has no outcome"},
		Fault:  "as 23, with a nats-server that syncs every two minutes (control)",
		Expect: "what was answered 202 and not synced is missing",
		Run:    func(ctx context.Context, r *Round) error { return r.losesPower(ctx) },
	}
}

func (r *Round) losesPower(ctx context.Context) error {
	if err := r.open(ctx, saleOf{units: killUnits}); err != nil {
		return err
	}
	if err := r.disks.power.Sync(); err != nil { // streams and catalogue are old; the sale is not
		return err
	}
	r.attack(ctx, killRate)
	if err := r.accepting(ctx, 50); err != nil {
		return err
	}
	begin, err := r.stack.StopWorkers()
	if err != nil {
		return errors.Join(err, begin())
	}
	before := r.load.accepted.Load()
	var waiting int64
	err = r.accepting(ctx, before+200)
	if err == nil {
		waiting, err = r.withoutOrder(ctx)
	}
	if err == nil {
		err = r.cutPower(ctx)
	}
	if err := errors.Join(err, begin()); err != nil {
		return err
	}
	r.heal()
	r.hit(int(waiting), "%d reservations that were answered 202 had no order just before the power went", waiting)
	return r.recovered(ctx)
}

// withoutOrder is how many reservations were answered 202 and have no order.
func (r *Round) withoutOrder(ctx context.Context) (int64, error) {
	var rids []string
	for _, w := range r.load.winners.All() {
		if w.Accepted {
			rids = append(rids, w.RID)
		}
	}
	ordered, err := r.count(ctx, `SELECT count(*) FROM orders WHERE id = ANY ($1::text[]::uuid[])`, rids)
	return int64(len(rids)) - ordered, err
}

// cutPower ends NATS and Redis at once, and has them back with what a disk would have: Redis,
// which syncs once a second, with nothing, for that is the worst.
func (r *Round) cutPower(ctx context.Context) error {
	return r.stack.Restart(ctx, "redis", func(redis *devstack.Server) error {
		return r.stack.Restart(ctx, "nats", func(nats *devstack.Server) error {
			r.inject()
			return r.disks.power.LosePower(func() error { return errors.Join(nats.Kill(), redis.Kill()) })
		}, asItIs)
	}, (*devstack.Server).WipeData)
}
