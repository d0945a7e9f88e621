package chaos

import (
	"context"
	"errors"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/earlier"
)

// oldAndNewPrograms: a sale does not end because another version is rolled out, or back.
func oldAndNewPrograms() Row {
	return Row{
		ID: "40", Name: "old-and-new-programs", Bound: 15 * time.Second,
		Fault: "while a sale runs its gateways, then its workers are replaced one by one by those of an earlier commit, and by the new ones again: new workers get " +
			"old messages, both run beside each other with their scripts, old workers get new messages",
		Expect: "both accept attempts and make orders of what the other handed over; nothing is broken off",
		Run: func(ctx context.Context, r *Round) error {
			return r.rollsBackAndForth(ctx, earlier.Pinned, killUnits, killRate)
		},
	}
}

// rolled is who is of the earlier commit.
type rolled struct {
	role  string
	index int
	old   bool
}

// side is what is replaced before the sale is looked at, and who is there then.
type side struct {
	changes []rolled
	are     string
}

func sides(gatewayCount, workerCount int) []side {
	return []side{
		{replaced("gateway", 0, gatewayCount, true), "old gateways and new workers"},
		{append(replaced("worker", 0, workerCount/2, true), replaced("gateway", gatewayCount/2, gatewayCount, false)...), "old and new gateways, old and new workers"},
		{append(replaced("worker", workerCount/2, workerCount, true), replaced("gateway", 0, gatewayCount/2, false)...), "new gateways and old workers"},
	}
}

// replaced are the processes of a role from an index to before another.
func replaced(role string, from, to int, old bool) (all []rolled) {
	for i := from; i < to; i++ {
		all = append(all, rolled{role, i, old})
	}
	return all
}

// rollsBackAndForth sells units to so many attempts a second while the fleet is replaced by
// the newest tag's, or that of the commit pinned, and is new again.
func (r *Round) rollsBackAndForth(ctx context.Context, pinned string, units int, rate float64) error {
	commit, dir, err := earlier.Build(ctx, r.src, r.binDir, pinned)
	if err != nil {
		return err
	}
	r.graceful = true
	if err := r.open(ctx, saleOf{units: units, hold: 5 * time.Second}); err != nil { // both versions release what expires under way
		return err
	}
	r.attack(ctx, rate)
	if err := r.accepting(ctx, 50); err != nil {
		return err
	}
	r.inject()
	err = r.rolls(ctx, commit, dir)
	err = errors.Join(err, r.allNew(context.WithoutCancel(ctx))) // others share the stack
	if err != nil {
		return err
	}
	r.heal()
	return r.recovered(ctx)
}

// rolls goes through all sides.
func (r *Round) rolls(ctx context.Context, commit earlier.Commit, dir string) error {
	for _, s := range sides(r.gateways(), r.workers()) {
		for _, c := range s.changes {
			from := ""
			if c.old {
				from = dir
			}
			if err := r.stack.SetProgram(ctx, c.role, c.index, from); err != nil {
				return err
			}
		}
		if err := r.sellsWith(ctx, s.are+" (old is "+commit.Name+")"); err != nil {
			return err
		}
	}
	return nil
}

// allNew replaces what is old.
func (r *Round) allNew(ctx context.Context) error {
	var errs []error
	for i := range r.gateways() {
		errs = append(errs, r.stack.SetProgram(ctx, "gateway", i, ""))
	}
	for i := range r.workers() {
		errs = append(errs, r.stack.SetProgram(ctx, "worker", i, ""))
	}
	return errors.Join(errs...)
}

// sellsWith waits until every gateway has accepted attempts and every worker made orders,
// and nothing of before waits for its outcome.
func (r *Round) sellsWith(ctx context.Context, are string) error {
	since, before := time.Now(), r.fleet(ctx)
	var after collect.Fleet
	sells := func() bool {
		if !r.load.goesOn(since) {
			return false
		}
		after = r.fleet(ctx)
		for url, was := range before {
			if is, ok := after[url]; !ok || is.Ordered <= was.Ordered {
				return false
			}
		}
		return len(before) == r.workers()
	}
	if err := r.until(ctx, hitPatience, "the sale goes on with "+are, sells); err != nil {
		return err
	}
	orders := 0.0
	for url, was := range before {
		orders += after[url].Ordered - was.Ordered
	}
	r.hit(int(orders), "%.0f orders with %s", orders, are)
	return nil
}
