package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/wait"
)

// Of the workers of row 26.
const (
	fewConnections   = 2 // for orders
	buyerConnections = 3 // for what buyers ask: a worker's default
	buyersAnswerIn   = 5 * time.Second
	healthAnswersIn  = time.Second
)

// postgresPoolExhausted: whoever waits for a connection waits for so long, and no longer.
func postgresPoolExhausted() Row {
	const held = 8 * time.Second
	return Row{ // a consumer pauses for up to 5 s, and hand-overs that it gave back come after up to 10 s
		ID: "26", Name: "postgres-pool-exhausted", Bound: 20 * time.Second,
		Fault: fmt.Sprintf("the orders are locked for %s, so that every connection that workers have for orders and for buyers waits, and everybody else for a connection", held),
		Expect: "attempts are accepted on; every wait ends; hand-overs are given back, and come again with a delay; " +
			"workers stay alive and ready; nothing becomes a dead letter",
		Run: func(ctx context.Context, r *Round) error {
			restore, err := r.setWorkers(ctx, fmt.Sprintf("SLUICE_POSTGRES_CONNS=%d", fewConnections), "SLUICE_CONSUMERS=1", "SLUICE_STATEMENT_TIMEOUT=2s")
			defer restore()
			if err != nil {
				return err
			}
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			unlock, err := r.lockOrders(ctx)
			if err != nil {
				return err
			}
			defer unlock()
			r.inject()
			before := r.load.accepted.Load()
			g, hangUp, err := r.watchGivenBack()
			if err != nil {
				return err
			}
			defer hangUp()
			if err := r.whileLocked(ctx, held); err != nil {
				return err
			}
			during := r.load.accepted.Load() - before
			unlock()
			r.heal()
			if err := r.recovered(ctx); err != nil {
				return err
			}
			return r.cameLater(during, g)
		},
	}
}

// setWorkers has all workers started again with settings, until restore.
func (r *Round) setWorkers(ctx context.Context, settings ...string) (restore func(), err error) {
	set := func(ctx context.Context, settings ...string) (errs error) {
		for i := range workers {
			errs = errors.Join(errs, r.stack.SetWorker(ctx, i, settings...))
		}
		return errs
	}
	restore = func() {
		if err := set(context.WithoutCancel(ctx), r.row.Stack.workerSettings()...); err != nil {
			r.fail("scenario", "cannot set workers as they were: %v", err)
		}
	}
	return restore, set(ctx, append(r.row.Stack.workerSettings(), settings...)...)
}

// lockOrders has everybody who touches an order wait, until unlock, which may be called
// more than once.
func (r *Round) lockOrders(ctx context.Context) (unlock func(), err error) {
	db, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	unlock = sync.OnceFunc(func() { hangUp(db) })
	if _, err := db.Exec(ctx, `BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE`); err != nil {
		unlock()
		return nil, fmt.Errorf("cannot lock the orders: %w", err)
	}
	return unlock, nil
}

// whileLocked looks for so long at how workers wait.
func (r *Round) whileLocked(ctx context.Context, held time.Duration) error {
	watching, stop := context.WithTimeout(ctx, held)
	defer stop()
	faults, err := r.ofWorkersWhere(ctx, returnedCounter, "reason", "fault")
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var unavailable atomic.Int64
	all.Go(func() { r.watchHealth(watching) })
	for i := range workers * 2 * buyerConnections {
		all.Go(func() { unavailable.Add(r.askWhile(watching, i)) })
	}
	most, err := r.mostWaiting(watching)
	all.Wait()
	if err != nil {
		return err
	}
	given, err := r.ofWorkersWhere(ctx, returnedCounter, "reason", "fault")
	if err != nil {
		return err
	}
	given -= faults
	if least := int64(workers * (fewConnections + buyerConnections)); most < least || given == 0 {
		return fmt.Errorf("%w every connection was taken: %d of %d waited, hand-overs were given back %.0f times", errNot, most, least, given)
	}
	r.hit(int(given), "hand-overs were given back %.0f times, buyers were answered 503 %d times, up to %d connections waited for the lock", given, unavailable.Load(), most)
	return nil
}

const returnedCounter = "sluice_hand_overs_returned_total"

// mostWaiting is how many connections of workers waited for a lock at the same time, at most.
func (r *Round) mostWaiting(ctx context.Context) (most int64, err error) {
	reading := context.WithoutCancel(ctx)
	db, err := r.connect(reading)
	if err != nil {
		return 0, err
	}
	defer hangUp(db)
	for wait.For(ctx, lookEvery) {
		var waiting int64
		err := db.QueryRow(reading, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sluice' AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			return most, fmt.Errorf("cannot count who waits: %w", err)
		}
		most = max(most, waiting)
	}
	return most, nil
}

// askWhile has a buyer ask a worker for orders, over and over, and returns how often the
// answer was that they cannot be reached.
func (r *Round) askWhile(ctx context.Context, i int) (unavailable int64) {
	url, token := r.stack.Info().Workers[i%workers].URL+"/v1/orders", r.token(i)
	for ctx.Err() == nil {
		began := time.Now()
		status, _, err := r.send(context.WithoutCancel(ctx), http.MethodGet, url, token, "")
		took := time.Since(began)
		switch {
		case err != nil:
			r.fail("I12", "a buyer who asks for orders: %v", err)
			return unavailable
		case took > slack*buyersAnswerIn:
			r.fail("I12", "a buyer who asks for orders was answered after %s", took)
		case status == http.StatusServiceUnavailable:
			unavailable++
		}
	}
	return unavailable
}

// watchHealth wants every worker to be alive and ready, at once.
func (r *Round) watchHealth(ctx context.Context) {
	for wait.For(ctx, 5*lookEvery) {
		for i, w := range r.stack.Info().Workers {
			for _, path := range []string{"/livez", "/readyz"} {
				began := time.Now()
				status, _, err := r.send(context.WithoutCancel(ctx), http.MethodGet, w.AdminURL+path, "", "")
				if took := time.Since(began); err != nil || status != http.StatusOK || took > slack*healthAnswersIn {
					r.fail("I12", "worker-%d answers %s with %d after %s: %v", i, path, status, took, err)
				}
			}
		}
	}
}

// cameLater wants attempts accepted meanwhile, and what workers gave back to come again
// no sooner than a consumer's shortest pause.
func (r *Round) cameLater(accepted int64, g *givenBack) error {
	times, soonest := g.end()
	if times == 0 {
		return fmt.Errorf("%w a worker gave a hand-over back", errNot)
	}
	if accepted == 0 {
		r.fail("I9", "no attempt was accepted while the orders were locked")
	}
	if soonest < soonestAgain {
		r.fail("I12", "of %d hand-overs that were given back one was wanted again after %s, sooner than %s", times, soonest, soonestAgain)
	}
	r.hit(int(accepted), "%d attempts were accepted meanwhile; %d hand-overs were given back, the soonest for %s", accepted, times, soonest)
	return nil
}

// soonestAgain is a consumer's pause after its first fault.
const soonestAgain = 100 * time.Millisecond
