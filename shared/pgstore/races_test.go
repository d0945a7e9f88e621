package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"sluice/shared/sale"
)

// inDecision runs fn with the steps of one order transaction at hand.
func inDecision(t *testing.T, s *Store, b Batch, fn func(context.Context, *decision) error) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		d := &decision{tx: tx, batch: b, verdicts: map[string]Verdict{}}
		if err := d.lockSale(t.Context()); err != nil {
			return err
		}
		return fn(t.Context(), d)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOrder_HolderThatLetsGoBeforeTheClassificationLeavesTheSlot(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	holder, next := reservation("ann", 1, 1), reservation("ann", 1, 2)
	order(t, s, batchOf("phone", holder))

	inDecision(t, s, batchOf("phone", next), func(ctx context.Context, d *decision) error {
		conflicts, err := d.insert(ctx, []sale.Reservation{next})
		if err != nil || len(conflicts) != 1 {
			return fmt.Errorf("conflicts = %v, want next's: %w", conflicts, err)
		}
		if err := letGo(ctx, s, holder.RID); err != nil {
			return err
		}
		open, err := d.classify(ctx, conflicts)
		if err != nil || len(open) != 1 {
			return fmt.Errorf("open = %v, want next still open: %w", open, err)
		}
		return d.decide(ctx, open)
	})

	wantHeld(t, s, "phone", 1)
	wantCounts(t, order(t, s, batchOf("phone", next)), 0, 1, 0, 0)
}

func TestOrder_HolderThatLetsGoDuringTheInsertLeavesTheSlot(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	holder, next := reservation("ann", 1, 1), reservation("ann", 1, 2)
	order(t, s, batchOf("phone", holder))
	letting, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = letting.Exec(t.Context(), `
		UPDATE orders SET state = 'expired', holds_unit = false, holds_slot = false WHERE id = $1::text::uuid`, holder.RID)
	if err != nil {
		t.Fatal(err)
	}
	_, err = letting.Exec(t.Context(), `UPDATE sale_stock SET held = held - 1 WHERE sale_id = 'phone'`)
	if err != nil {
		t.Fatal(err)
	}

	done := make(chan Result, 1)
	go func() {
		defer close(done)
		if result, err := s.Order(t.Context(), batchOf("phone", next)); err == nil {
			done <- result
		}
	}()
	waitUntilBlocked(t, s)
	if err := letting.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}

	wantCounts(t, <-done, 1, 0, 0, 0)
	wantHeld(t, s, "phone", 1)
}

// waitUntilBlocked returns once a connection of this test waits for a lock.
func waitUntilBlocked(t *testing.T, s *Store) {
	t.Helper()
	eventually(t, "a statement waits for a lock", func() bool {
		var waiting bool
		err := s.pool.QueryRow(t.Context(), `
			SELECT EXISTS (SELECT FROM pg_stat_activity
				WHERE application_name = current_setting('application_name') AND wait_event_type = 'Lock')`).Scan(&waiting)
		return err == nil && waiting
	})
}

func TestOrder_DuplicateThatAnotherWorkerDecidedIsLookedUpAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	holder, again := reservation("ann", 1, 1), reservation("ann", 1, 2)
	order(t, s, batchOf("phone", holder))

	inDecision(t, s, batchOf("phone", again), func(ctx context.Context, d *decision) error {
		order(t, s, batchOf("phone", again)) // the other worker, after this one has looked
		undecided, err := d.rejectDuplicates(ctx, []sale.Reservation{again}, []string{holder.RID})
		if err != nil || len(undecided) != 1 {
			return fmt.Errorf("undecided = %v, want again's: %w", undecided, err)
		}
		if err := d.decide(ctx, undecided); err != nil {
			return err
		}
		if v := d.verdicts[again.RID]; v.Fate != FateKnown || v.Holder != holder.RID {
			return fmt.Errorf("verdict = %+v, want known", v)
		}
		return nil
	})
	wantHeld(t, s, "phone", 1)
}

// orderOnce is Order without its second attempts: a deadlock is an error.
func orderOnce(ctx context.Context, s *Store, b Batch) error {
	rs, err := distinct(b.Reservations)
	if err != nil {
		return err
	}
	for {
		err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			d := &decision{tx: tx, batch: b, verdicts: map[string]Verdict{}}
			return d.decide(ctx, rs)
		})
		if !errors.Is(err, errStartOver) {
			return err
		}
	}
}

func TestOrder_WorkersOnTheSameHandOversMoveTheStockOnceWithoutDeadlock(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	const rounds, workers, batchSize = 25, 3, 40
	for round := range rounds {
		saleID := fmt.Sprintf("phone-%d", round)
		rs := contested(60)
		loaded(t, s, saleID, int64(10+round)) // from far too few units to enough
		watch := watchStock(t, s, saleID)
		var group sync.WaitGroup
		for range workers {
			group.Go(func() {
				b := batchOf(saleID, overlapping(rs, batchSize)...)
				for range 2 {
					if err := orderOnce(t.Context(), s, b); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				}
			})
		}
		group.Wait()
		watch()
	}
}

func TestOrder_WorkersWhileOrdersLetGoKeepTheStockRight(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for round := range 10 {
		saleID := fmt.Sprintf("phone-%d", round)
		rs := contested(60)
		loaded(t, s, saleID, int64(20+2*round))
		watch := watchStock(t, s, saleID)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for range 4 {
					if _, err := s.Order(t.Context(), batchOf(saleID, overlapping(rs, 30)...)); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				}
			})
			group.Go(func() {
				for _, r := range overlapping(rs, 30) {
					if err := letGo(t.Context(), s, r.RID); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				}
			})
		}
		group.Wait()
		watch()
	}
}

// contested are n reservations, three to a slot.
func contested(n int) []sale.Reservation {
	rs := make([]sale.Reservation, n)
	for i := range rs {
		rs[i] = reservation(fmt.Sprintf("user-%02d", i/6), 1+i/3%2, int64(i+1))
	}
	return rs
}

// overlapping picks size of rs in random order.
func overlapping(rs []sale.Reservation, size int) []sale.Reservation {
	picked := make([]sale.Reservation, size)
	for i, at := range rand.Perm(len(rs))[:size] {
		picked[i] = rs[at]
	}
	return picked
}

// watchStock compares the stock row with the rows that hold a unit, over and
// over until the returned function is called, and once more then.
func watchStock(t *testing.T, s *Store, saleID string) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	check := func() bool {
		held, holding, err := stockNow(t.Context(), s, saleID)
		if err != nil || held != holding {
			t.Errorf("%s: held = %d, rows that hold a unit = %d, error %v", saleID, held, holding, err)
		}
		return err == nil && held == holding
	}
	go func() {
		defer close(done)
		for ctx.Err() == nil && check() {
		}
	}()
	return func() {
		cancel()
		<-done
		check()
	}
}
