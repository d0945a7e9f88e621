package chaos

import (
	"context"
	"errors"
	"time"

	"sluice/loadtest/internal/wait"
	"sluice/shared/devstack"
)

// redisRestartsEmpty: everything that was fast is gone.
func redisRestartsEmpty() Row {
	return Row{
		ID: "10", Name: "redis-restarts-empty", Short: true, Bound: 15 * time.Second,
		Fault:  "Redis is killed in the middle of a sale and comes back without any data",
		Expect: "503 until a worker has rebuilt the sale from Postgres and the stream; it sells again by itself; tickets are as before",
		Run: func(ctx context.Context, r *Round) error {
			return r.redisLoses(ctx, (*devstack.Server).WipeData)
		},
	}
}

// redisLoses has Redis lose data while it is down, and the sale rebuilt.
func (r *Round) redisLoses(ctx context.Context, lose func(*devstack.Server) error) error {
	if err := r.begin(ctx, killUnits, killRate); err != nil {
		return err
	}
	decided, err := r.decided(ctx)
	if err != nil {
		return err
	}
	before, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return err
	}
	rebuilt := r.watchRebuild(ctx, before.Epoch)
	gone, err := r.wipe(ctx, lose)
	if err != nil {
		rebuilt()
		return err
	}
	r.heal()
	late := r.recovered(ctx)
	if notYet, live := rebuilt(); live {
		r.wantUnavailable(gone, notYet, "Redis had lost the sale, and it was not live again")
	}
	after, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil {
		return errors.Join(late, err)
	}
	if rebuilds := after.Epoch - before.Epoch; rebuilds > 0 {
		r.hit(int(rebuilds), "the sale went from epoch %d to %d", before.Epoch, after.Epoch)
	} else {
		r.fail("I8", "Redis has lost what it wrote, and the sale was not rebuilt: it is at epoch %d still, with what is left", after.Epoch)
	}
	if late == nil {
		r.load.wantAsBefore(ctx, decided)
	}
	return late
}

// wipe has Redis lose data while it is down, and returns a moment at which it was.
func (r *Round) wipe(ctx context.Context, lose func(*devstack.Server) error) (gone time.Duration, err error) {
	r.inject()
	err = r.stack.Restart(ctx, "redis", (*devstack.Server).Kill, func(s *devstack.Server) error {
		gone = r.journal.Now()
		return lose(s)
	})
	return gone, err
}

// watchRebuild looks for the moment at which a sale is live again in Redis, at a higher
// epoch. What it returns ends that, and says when it was seen not to be for the last time.
func (r *Round) watchRebuild(ctx context.Context, before int64) func() (notYet time.Duration, live bool) {
	ctx, stop := context.WithCancel(ctx)
	var notYet time.Duration
	seen := make(chan bool, 1)
	go func() {
		live := false
		for !live && wait.For(ctx, lookEvery) {
			now := r.journal.Now()
			if live = r.liveAfter(ctx, before); !live {
				notYet = now
			}
		}
		seen <- live
	}()
	return func() (time.Duration, bool) {
		stop()
		live := <-seen
		return notYet, live
	}
}

// liveAfter reports whether Redis has the sale live at an epoch after this one. Gateways
// sell no sooner.
func (r *Round) liveAfter(ctx context.Context, before int64) bool {
	entry, err := r.stores.Postgres.Entry(ctx, r.saleID)
	if err != nil || entry.Epoch <= before {
		return false
	}
	_, _, err = r.stores.Redis.Snapshot(ctx, r.saleID, entry.Epoch)
	return err == nil
}
