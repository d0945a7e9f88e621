package pacing

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// inTime runs a pacer on time of its own.
func inTime(t *testing.T, cfg Config, test func(t *testing.T, p *Pacer)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(cfg, 30*time.Second, func() int64 { return 0 })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx) }()
		test(t, p)
		stop()
		<-ended
	})
}

// shop has a sale's transactions of n orders run one behind the other until ctx ends; it
// counts the orders.
func (p *Pacer) shop(ctx context.Context, saleID string, n int, takes time.Duration, made *atomic.Int64) {
	for {
		turn, err := p.Turn(ctx, saleID, n)
		if err != nil {
			return
		}
		go func() {
			defer turn.Done()
			turn.Pay(n)
			began := time.Now()
			time.Sleep(takes)
			turn.Ended(began, n)
			made.Add(int64(n))
		}()
	}
}

func paced(pace float64, consumers int) Config {
	return Config{Target: 50 * time.Millisecond, Floor: 1, Ceiling: pace, ConsumersMax: consumers}
}

func TestPacer_SalesShareThePaceByWeight(t *testing.T) {
	inTime(t, paced(10_000, 4), func(t *testing.T, p *Pacer) {
		ctx, stop := context.WithCancel(t.Context())
		p.Serve("light", 1)
		p.Serve("heavy", 3)
		var light, heavy atomic.Int64
		go p.shop(ctx, "light", 500, 10*time.Millisecond, &light)
		go p.shop(ctx, "heavy", 50, 10*time.Millisecond, &heavy) // a transaction costs more than its orders
		p.Serve("idle", 1000)
		time.Sleep(time.Minute)
		stop()
		time.Sleep(time.Second)
		costs := float64(heavy.Load()) / 50 * Cost(50) / float64(light.Load())
		if costs < 2.8 || costs > 3.2 {
			t.Errorf("the heavy sale had %.2f times as much, want 3: %d and %d orders", costs, heavy.Load(), light.Load())
		}
		if used := float64(heavy.Load())/50*Cost(50) + float64(light.Load()); used < 0.95*600_000 || used > 1.02*600_000 {
			t.Errorf("%v of 600000 used", used)
		}
	})
}

func TestPacer_ASaleAloneHasAllOfIt(t *testing.T) {
	inTime(t, paced(10_000, 4), func(t *testing.T, p *Pacer) {
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		for _, id := range []string{"one", "two", "three"} {
			p.Serve(id, 100)
		}
		var made atomic.Int64
		p.shop(ctx, "one", 500, 10*time.Millisecond, &made)
		time.Sleep(time.Second)
		if n := made.Load(); n < 98_000 || n > 102_000 {
			t.Errorf("%d orders in ten seconds", n)
		}
		if share := p.ShareOf("one"); math.Abs(share-10_000) > 300 {
			t.Errorf("share of the one that works: %v", share)
		}
	})
}

// What hangs is the business of its own sale: another one waits for the time after which
// it counts as hanging, at most.
func TestPacer_ASaleThatHangsLeavesTheOthersTheirTurn(t *testing.T) {
	for _, consumers := range []int{1, 2, 8} {
		t.Run("", func(t *testing.T) {
			inTime(t, paced(100_000, consumers), func(t *testing.T, p *Pacer) {
				ctx, stop := context.WithCancel(t.Context())
				var stuck atomic.Int64
				go p.shop(ctx, "stuck", 500, time.Minute, &stuck)
				time.Sleep(10 * time.Second)
				inFlight := p.State().InFlight
				for range 20 {
					asked := time.Now()
					turn, err := p.Turn(ctx, "well", 1)
					if err != nil {
						t.Fatal(err)
					}
					if waited := time.Since(asked); waited > shortestHang+lookEvery {
						t.Fatalf("waited %v", waited)
					}
					began := time.Now()
					time.Sleep(5 * time.Millisecond)
					turn.Ended(began, 1)
					turn.Done()
				}
				if inFlight > consumers || p.State().InFlight > consumers {
					t.Errorf("%d of the stuck sale in flight, then %d, of %d consumers", inFlight, p.State().InFlight, consumers)
				}
				stop()
				time.Sleep(2 * time.Minute)
				if s := p.State(); s.Pace < 100_000 || s.LimitedBy == LimitErrors {
					t.Errorf("a lock has cut the pace: %+v", s)
				}
			})
		})
	}
}

func TestPacer_WhoGivesUpWaitingForAnotherTurnHasNotHung(t *testing.T) {
	inTime(t, paced(100_000, 2), func(t *testing.T, p *Pacer) {
		turn, err := p.Turn(t.Context(), "sale", 1)
		if err != nil {
			t.Fatal(err)
		}
		p.SetPaused(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := turn.Again(ctx, 1); err == nil {
			t.Fatal("a turn during a pause")
		}
		p.mu.Lock()
		p.turns.line("other").wellAt = time.Now()
		p.mu.Unlock()
		turn.Done()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.turns.line("sale").hung {
			t.Error("a transaction that never began has hung")
		}
	})
}

// Whoever comes while another sale has all consumers begins beside it, one at a time.
func TestPacer_WhoComesDoesNotWaitForWhatAnotherSaleBorrowed(t *testing.T) {
	inTime(t, paced(100_000, 2), func(t *testing.T, p *Pacer) {
		var large []*Turn
		for range 2 {
			turn, err := p.Turn(t.Context(), "large", MaxBatch)
			if err != nil {
				t.Fatal(err)
			}
			large = append(large, turn)
		}
		small, err := p.Turn(t.Context(), "small", 1)
		if err != nil {
			t.Fatal(err)
		}
		begun := make(chan struct{})
		go func() {
			if turn, err := p.Turn(t.Context(), "third", 1); err == nil {
				turn.Done()
			}
			close(begun)
		}()
		synctest.Wait()
		select {
		case <-begun:
			t.Error("two have begun beside it")
		default:
		}
		for _, turn := range append(large, small) {
			turn.Done()
		}
		<-begun
	})
}

// A lock that outlives the statement timeout is met anew every few seconds.
func TestPacer_ASaleThatHungIsNotBelievedAgain(t *testing.T) {
	inTime(t, paced(100_000, 2), func(t *testing.T, p *Pacer) {
		ctx, stop := context.WithCancel(t.Context())
		var hanging sync.WaitGroup
		hanging.Go(func() {
			for {
				turn, err := p.Turn(ctx, "stuck", MaxBatch)
				if err != nil {
					return
				}
				began := time.Now()
				hanging.Go(func() {
					time.Sleep(5 * time.Second)
					turn.Failed(began)
					turn.Done()
				})
				time.Sleep(100 * time.Millisecond)
			}
		})
		slow := 0
		for range 60 * 50 {
			asked := time.Now()
			turn, err := p.Turn(ctx, "well", 1)
			if err != nil {
				t.Fatal(err)
			}
			if time.Since(asked) > 20*time.Millisecond {
				slow++
			}
			began := time.Now()
			time.Sleep(5 * time.Millisecond)
			turn.Ended(began, 1)
			turn.Done()
			time.Sleep(15 * time.Millisecond)
		}
		if slow > 3 { // until it is known to hang
			t.Errorf("%d of %d turns of the other sale had to wait", slow, 60*50)
		}
		stop()
		hanging.Wait()
	})
}

func TestPacer_NothingBeginsWhilePaused(t *testing.T) {
	inTime(t, paced(10_000, 4), func(t *testing.T, p *Pacer) {
		ctx, stop := context.WithCancel(t.Context())
		var made atomic.Int64
		p.SetPaused(true)
		go p.shop(ctx, "phone", 100, time.Millisecond, &made)
		time.Sleep(time.Minute)
		if made.Load() != 0 || !p.State().Paused || p.ShareOf("phone") != 0 {
			t.Errorf("%d orders, %+v", made.Load(), p.State())
		}
		p.SetPaused(false)
		time.Sleep(time.Second)
		if made.Load() == 0 {
			t.Error("no orders after the pause")
		}
		stop()
		time.Sleep(time.Second)
	})
}

func TestPacer_WhoGivesUpWaitingTakesNothing(t *testing.T) {
	inTime(t, paced(1000, 1), func(t *testing.T, p *Pacer) {
		first, err := p.Turn(t.Context(), "phone", 500)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := p.Turn(ctx, "phone", 500); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		first.Done()
		p.Forget("phone")
		if s := p.State(); s.InFlight != 0 || len(p.turns.sales) != 0 {
			t.Errorf("%+v, %d sales", s, len(p.turns.sales))
		}
	})
}

// A batch with a bad reservation is halved until it is found. Each half is one more
// transaction, and what was refused has made no orders.
func TestPacer_ABatchThatIsHalvedPaysForEveryTransaction(t *testing.T) {
	inTime(t, paced(1000, 1), func(t *testing.T, p *Pacer) {
		const n = 100
		cost := 0.0
		for begun := time.Now(); time.Since(begun) < time.Minute; {
			turn, err := p.Turn(t.Context(), "phone", n)
			if err != nil {
				t.Fatal(err)
			}
			turn.Refused(time.Now(), n)
			for range 2 {
				if err := turn.Again(t.Context(), n/2); err != nil {
					t.Fatal(err)
				}
				turn.Ended(time.Now(), n/2)
			}
			turn.Done()
			cost += Cost(n) + 2*Cost(n/2)
		}
		if most := 60_000*1.02 + MaxBatch; cost > most {
			t.Errorf("transactions took %.0f of the pace, at most %.0f", cost, most)
		}
		if share, most := p.ShareOf("phone"), 1000*n/(Cost(n)+2*Cost(n/2)); share > 1.3*most { // a window is a few batches
			t.Errorf("share %.0f, at most %.0f orders a second are made", share, most)
		}
	})
}

// A sale's progress may still ask for its share when its consumer has ended.
func TestPacer_ASaleThatIsForgottenStaysForgotten(t *testing.T) {
	inTime(t, paced(1000, 1), func(t *testing.T, p *Pacer) {
		p.Serve("phone", 3)
		if share := p.ShareOf("phone"); share != 1000 {
			t.Errorf("share %v of a sale alone", share)
		}
		p.Forget("phone")
		if share := p.ShareOf("phone"); share != 0 || len(p.turns.sales) != 0 {
			t.Errorf("share %v, %d sales", share, len(p.turns.sales))
		}
	})
}

func TestPacer_WorkersWanted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := New(paced(1000, 1), 10*time.Second, func() int64 { return 55_000 })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx) }()
		var made atomic.Int64
		shopped := make(chan struct{})
		go func() { defer close(shopped); p.shop(ctx, "phone", 500, 10*time.Millisecond, &made) }()
		time.Sleep(30 * time.Second)
		if s := p.State(); s.WorkersWanted != 6 || s.LimitedBy != LimitCeiling { // 5500 orders a second, 1000 from each
			t.Errorf("%+v", s)
		}
		stop()
		<-ended
		<-shopped
		time.Sleep(time.Second)
	})
}

func TestCollector_HasEveryLimitAndOneThatHolds(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(New(bounds, time.Second, func() int64 { return 0 }).Collector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			got[f.GetName()] += m.GetGauge().GetValue()
		}
		if f.GetName() == "sluice_pace_limited_by" && len(f.GetMetric()) != len(Limits()) {
			t.Errorf("%d limits", len(f.GetMetric()))
		}
	}
	for name, want := range map[string]float64{
		"sluice_pace_orders_per_second": 100_000, "sluice_pace_p90_seconds": 0, "sluice_pace_target_seconds": 0.05, "sluice_pace_limited_by": 1,
		"sluice_pace_floor_orders_per_second": 100, "sluice_pace_ceiling_orders_per_second": 100_000, "sluice_order_batch_max": MaxBatch,
		"sluice_pace_paused": 0, "sluice_consumers": 2, "sluice_consumers_max": 8, "sluice_workers_wanted": 1,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v, want %v", name, value, want)
		}
	}
}

// What a halved batch owes must not keep the others waiting: a flood of bad reservations in
// one sale is not another sale's concern.
func TestPacer_ABatchThatIsHalvedLeavesTheOthersTheirTurn(t *testing.T) {
	inTime(t, paced(1000, 2), func(t *testing.T, p *Pacer) {
		ctx, stop := context.WithCancel(t.Context())
		halved := make(chan struct{})
		go func() {
			defer close(halved)
			turn, err := p.Turn(ctx, "bad", 256)
			if err != nil {
				return
			}
			defer turn.Done()
			for {
				began := time.Now()
				time.Sleep(10 * time.Millisecond)
				turn.Refused(began, 1)
				if turn.Again(ctx, 1) != nil {
					return
				}
			}
		}()
		time.Sleep(30 * time.Second)
		var good atomic.Int64
		go p.shop(ctx, "good", 100, 10*time.Millisecond, &good)
		time.Sleep(10 * time.Second)
		stop()
		<-halved
		time.Sleep(time.Second)
		if made := good.Load(); made < 2000 {
			t.Errorf("%d orders of the other sale in 10 s, want most of its share, 3000", made)
		}
	})
}
