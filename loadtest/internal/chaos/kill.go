package chaos

import (
	"context"
	"fmt"
)

const (
	killUnits = 20_000
	killRate  = 200 // attempts a second
)

// begin opens a sale of so many units and has the load under way.
func (r *Round) begin(ctx context.Context, units int, perSecond float64) error {
	if err := r.open(ctx, saleOf{units: units}); err != nil {
		return err
	}
	r.attack(ctx, perSecond)
	return r.accepting(ctx, 50)
}

// killedAt has a process die at a point of its code while the load is under way. If
// answers are lost, buyers must notice.
func (r *Round) killedAt(ctx context.Context, role string, index int, point string, answers bool) error {
	if err := r.begin(ctx, killUnits, killRate); err != nil {
		return err
	}
	before := r.load.unknown.Load()
	if err := r.killAgainAt(ctx, role, index, point); err != nil {
		return err
	}
	if lost := r.load.unknown.Load() - before; answers && lost == 0 {
		return fmt.Errorf("%w an attempt was left without an answer", errNot)
	}
	return nil
}

// killAgainAt has the process start again with the point armed, waits until it died
// there, and until the sale goes on.
func (r *Round) killAgainAt(ctx context.Context, role string, index int, point string) error {
	died, err := r.arm(ctx, role, index, point+"=kill@3")
	if err != nil {
		return err
	}
	r.inject()
	if err := r.dead(ctx, died); err != nil {
		return fmt.Errorf("%s-%d at %s: %w", role, index, point, err)
	}
	r.heal() // nothing is broken any more but what it had in hand
	r.hit(1, "%s-%d was killed at %s", role, index, point)
	return r.recovered(ctx)
}
