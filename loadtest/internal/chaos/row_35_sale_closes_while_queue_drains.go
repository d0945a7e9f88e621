package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"sluice/loadtest/internal/wait"
	"sluice/shared/sale"
)

// saleClosesWhileQueueDrains: whoever was let in in time is served, however late that is.
func saleClosesWhileQueueDrains() Row {
	return Row{
		ID: "35", Name: "sale-closes-while-queue-drains", Bound: 30 * time.Second,
		Fault: "a sale closes while its reservations wait for workers that are all dead, by its window; with every other seed an operator closes it while the " +
			"workers' pace is paused",
		Expect: "attempts are refused as closed; every reservation of before is confirmed",
		Run:    func(ctx context.Context, r *Round) error { return r.closesWithQueue(ctx) },
	}
}

const (
	closesIn = 12 * time.Second // after the sales file is written: the load is under way by then
	queueFor = 3 * time.Second  // that nobody serves
)

func (r *Round) closesWithQueue(ctx context.Context) error {
	closing, wanted := r.byWindow, saleOf{units: killUnits, closes: in(closesIn)}
	if r.seed%2 == 0 {
		closing, wanted = r.byOperator, saleOf{units: killUnits}
	}
	if err := r.open(ctx, wanted); err != nil {
		return err
	}
	r.attack(ctx, killRate)
	if err := r.accepting(ctx, 50); err != nil {
		return err
	}
	if err := closing(ctx); err != nil {
		return err
	}
	if err := r.drained(ctx); err != nil {
		return err
	}
	return r.wantNoneRejected(ctx)
}

// closed waits until the gateways refuse, and notes what waits then.
func (r *Round) closed(ctx context.Context) error {
	refused := func() bool { return r.load.answers(sale.OutOfWindow.String()) >= killRate/2 }
	if err := r.until(ctx, closesIn+hitPatience, "attempts are refused as closed", refused); err != nil {
		return err
	}
	r.hit(r.load.undecided(), "%d reservations waited for their outcome when the sale had closed", r.load.undecided())
	return nil
}

// byWindow has the sale close at its time, without any worker.
func (r *Round) byWindow(ctx context.Context) error {
	start, err := r.stack.StopWorkers()
	r.inject()
	if err == nil {
		err = r.closed(ctx)
	}
	r.heal()
	if failed := start(); failed != nil {
		return failed
	}
	return err
}

// byOperator has the sale closed by a worker that makes no orders.
func (r *Round) byOperator(ctx context.Context) (err error) {
	r.inject()
	defer func() { // a pause that got no answer may hold too
		r.heal()
		err = errors.Join(err, r.setPace(context.WithoutCancel(ctx), "resume"))
	}()
	if err := r.setPace(ctx, "pause"); err != nil {
		return err
	}
	wait.For(ctx, queueFor)
	if err := r.ask(ctx, "/sales/"+r.saleID+"/close"); err != nil {
		return err
	}
	return r.closed(ctx)
}

// ask wants a worker to do something.
func (r *Round) ask(ctx context.Context, path string) error {
	status, answer, err := r.operate(ctx, r.admin(r.random.IntN(workers)), path, "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("cannot ask for %s: %d %s", path, status, answer)
	}
	return err
}

// wantNoneRejected wants every order to be there to stay.
func (r *Round) wantNoneRejected(ctx context.Context) error {
	s, err := r.state(ctx)
	if err != nil {
		return err
	}
	for _, o := range s.Orders {
		if o.State != string(sale.OrderPending) {
			r.fail("I3", "order %s of %s, accepted before the sale closed, is %s", o.ID, o.User, o.State)
		}
	}
	return nil
}
