package pace

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// sharesPart is the part of the commits without a throttle that two workers share: so
// few that the database is the limit, not the machine.
var sharesPart = Step{Name: "quarter", Over: 4}

// shares starts a second worker beside one that has found its pace.
func (r *run) shares(ctx context.Context, f figures) (err error) {
	s, err := r.open(ctx, "shares", "A second worker starts beside one that has found its pace.", r.sales(throttleSales), fixed(r.many())...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.demand()
	s.watch.mark("fixed")
	all, err := s.fixedFor(ctx, r.many())
	if err != nil {
		return err
	}
	s.watch.mark(fmt.Sprintf("paced, %d commits/s", s.limit(sharesPart, all.Commits)))
	if err := s.stack.SetWorker(ctx, 0, r.paced()...); err != nil {
		return err
	}
	if err := s.pause(r.Settle); err != nil {
		return err
	}
	one, err := s.over(ctx, r.Judge)
	if err != nil {
		return err
	}
	s.watch.mark("second worker")
	if _, err := s.stack.StartWorker(ctx, r.paced()...); err != nil {
		return err
	}
	if err := s.pause(r.Share); err != nil {
		return err
	}
	two, err := s.over(ctx, r.Judge)
	if err != nil {
		return err
	}
	f.ratio("shares_two_vs_one", two.Orders, one.Orders)
	f.ratio("shares_smaller_vs_larger", slices.Min(two.Shares), slices.Max(two.Shares))
	f["shares_one_orders_per_s"], f["shares_two_orders_per_s"] = one.Orders, two.Orders
	r.say("shares: one worker %.0f orders/s, two %.0f: %.0f and %.0f; p90 %.0f ms", one.Orders, two.Orders, two.Shares[0], two.Shares[1], millis(two.P90))
	return s.finish(ctx)
}
