package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/shared/devstack"
	"sluice/shared/sale"
)

const pairPatience = 90 * time.Second // for what should take seconds

// pairStore is a migrated store, with one sale, on a primary with a synchronous standby.
func pairStore(t *testing.T, c Config, total int64) (*devstack.PostgresPair, *Store) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	pair, err := devstack.StartPostgresPair(pairContext(t), devstack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pair.Close(); err != nil {
			t.Error(err)
		}
	})
	c.URL = pair.URL()
	s := openPair(t, c)
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded(t, s, "phone", total)
	return pair, s
}

func openPair(t *testing.T, c Config) *Store {
	t.Helper()
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func pairContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), pairPatience)
	t.Cleanup(cancel)
	return ctx
}

func mustPair(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// sells orders one batch after the other, each until Postgres has answered, until stop.
type sells struct {
	mu      sync.Mutex
	ordered []string // rids
	failed  int
	stop    func()
}

func sell(t *testing.T, s *Store) *sells {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	all := &sells{}
	var running sync.WaitGroup
	for buyer := range 3 {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				b := batchOf("phone", reservation(fmt.Sprintf("buyer-%d-%d", buyer, n), 1, int64(n+1)))
				for all.orders(context.WithoutCancel(ctx), s, b) != nil && ctx.Err() == nil {
					time.Sleep(20 * time.Millisecond)
				}
			}
		})
	}
	all.stop = func() { cancel(); running.Wait() }
	t.Cleanup(all.stop)
	return all
}

func (a *sells) orders(ctx context.Context, s *Store, b Batch) error {
	_, err := s.Order(ctx, b)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.failed++
		return err
	}
	a.ordered = append(a.ordered, b.Reservations[0].RID)
	return nil
}

func (a *sells) count() (ordered, failed int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ordered), a.failed
}

func (a *sells) goOn(t *testing.T, since string) {
	t.Helper()
	before, _ := a.count()
	began := time.Now()
	for {
		if now, _ := a.count(); now > before+100 {
			t.Logf("orders go on %s: %v", since, time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Since(began) > pairPatience {
			t.Fatalf("no orders %s", since)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (a *sells) areThere(t *testing.T, s *Store) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	missing, err := s.Undecided(pairContext(t), a.ordered)
	if err != nil || len(missing) > 0 {
		t.Errorf("%d of %d committed orders are gone: %v", len(missing), len(a.ordered), err)
	}
	t.Logf("%d orders, %d calls failed", len(a.ordered), a.failed)
}

func TestPair_OrdersGoOnThroughAFailover(t *testing.T) {
	t.Parallel()
	pair, s := pairStore(t, Config{}, 1_000_000)
	ctx := pairContext(t)
	orders := sell(t, s)
	orders.goOn(t, "at first")
	mustPair(t, pair.Primary().Kill(), pair.Failover(ctx))
	orders.goOn(t, "after the primary was killed")
	mustPair(t, pair.Rejoin(ctx))
	orders.goOn(t, "with a standby again")
	mustPair(t, pair.Primary().Freeze(), pair.Failover(ctx))
	orders.goOn(t, "after the primary hung and was fenced")
	orders.stop()
	orders.areThere(t, s)
}

// Nobody fences the old primary: it hangs, and goes on later.
func TestPair_ReplacedPrimaryIsLeftAndNotUsedAgain(t *testing.T) {
	t.Parallel()
	primary := NewPrimary()
	pair, s := pairStore(t, Config{Primary: primary}, 1_000_000)
	ctx := pairContext(t)
	looks := openPair(t, Config{URL: pair.URL(), MaxConns: 1, Primary: primary})
	orders := sell(t, s)
	orders.goOn(t, "at first")
	old := pair.Primary()
	mustPair(t, old.Freeze(), pair.PromoteBeside(ctx))
	began := time.Now()
	for { // a worker looks once a second which server answers
		look, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := looks.Server(look)
		cancel()
		if err == nil {
			break
		}
	}
	t.Logf("the successor is met after %v", time.Since(began).Round(time.Millisecond))
	orders.goOn(t, "on the other server")
	mustPair(t, old.Thaw())
	orders.goOn(t, "beside the old primary")
	const nobody = ",127.0.0.1:1/" // two hosts, of which the old primary alone answers
	late := openPair(t, Config{URL: strings.Replace(old.URL(), "/postgres?", nobody+"postgres?", 1), Primary: primary})
	if err := late.Ping(ctx); !errors.Is(err, ErrReplaced) {
		t.Errorf("asked for the old primary: %v", err)
	}
	primaryURL := pair.Primary().URL()
	for range 20 {
		if conn, err := pgx.Connect(ctx, old.URL()); err != nil { // it is there, and would take writes
			t.Fatal(err)
		} else {
			_ = conn.Close(ctx)
		}
		var at string
		if err := s.pool.QueryRow(ctx, `SELECT 'postgres://postgres@127.0.0.1:' || inet_server_port() || '/postgres?sslmode=disable'`).Scan(&at); err != nil || at != primaryURL {
			t.Fatalf("asked %s, %v; the primary is %s", at, err, primaryURL)
		}
		s.pool.Reset() // the next one is a new connection
	}
	orders.stop()
	orders.areThere(t, s)
	mustPair(t, old.Kill())
}

// What a caller gave up on is there to be read, and the standby may not have it: it is not
// settled, and no message of it acknowledged, before it has.
func TestPair_NothingIsDecidedWithoutTheStandby(t *testing.T) {
	t.Parallel()
	pair, s := pairStore(t, Config{StatementTimeout: time.Second}, 100)
	ctx := pairContext(t)
	b := batchOf("phone", reservations(5)...)
	rids := ridsOf(b.Reservations, func(r sale.Reservation) string { return r.RID })
	payment := sale.PaymentEvent{EventID: "event-1", Type: sale.PaymentSucceeded, OrderID: b.Reservations[0].RID, AmountMinor: 199900, Currency: "CNY", OccurredAt: time.Now()}
	letter := Unreadable{SaleID: "phone", Epoch: 1, Sequence: 7, Body: []byte("x"), Cause: errors.New("unreadable")}
	calls := map[string]func() error{
		"order":   func() error { _, err := s.Order(ctx, b); return err },
		"payment": func() error { _, err := s.StorePayments(ctx, []sale.PaymentEvent{payment}); return err },
		"letter":  func() error { _, err := s.Bury(ctx, letter); return err },
	}
	mustPair(t, pair.Standby().Freeze())
	var wait sync.WaitGroup
	for name, call := range calls {
		wait.Go(func() {
			for try := range 3 { // the last finds what the first has left
				began := time.Now()
				if err := call(); err == nil {
					t.Errorf("%s is decided without the standby, at try %d", name, try+1)
				} else if took := time.Since(began); took > 20*time.Second {
					t.Errorf("%s took %v", name, took)
				}
			}
		})
	}
	wait.Wait()
	if left, err := s.Undecided(ctx, rids); err != nil || len(left) != 0 {
		t.Fatalf("%d orders cannot be read: %v", len(left), err) // else the second tries have shown nothing
	}
	exec(t, s, `BEGIN; SET LOCAL synchronous_commit = local; UPDATE orders SET shown_state = ''; COMMIT`)
	if unshown, err := s.Unshown(ctx, 10, nil); err == nil {
		t.Errorf("%d orders are to be shown", len(unshown))
	}
	mustPair(t, pair.Standby().Thaw())
	for name, call := range calls {
		eventuallyPair(t, name+" is decided with the standby", func() bool { return call() == nil })
	}
	eventuallyPair(t, "orders are to be shown", func() bool {
		unshown, err := s.Unshown(ctx, 10, nil)
		return err == nil && len(unshown) == 5
	})
}

func eventuallyPair(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for began := time.Now(); !ok(); {
		if time.Since(began) > pairPatience {
			t.Fatalf("not within %v: %s", pairPatience, what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Whoever is promoted is another start, though its process may have started before the old
// primary's: it is compared before anything works with it.
func TestPair_PromotedStandbyIsUnknown(t *testing.T) {
	t.Parallel()
	pair, s := pairStore(t, Config{}, 100)
	ctx := pairContext(t)
	mustPair(t, pair.Primary().Stop(), pair.Primary().Restart(ctx), pair.SetSynchronous(ctx, true)) // it is younger than its standby now
	var first Server
	eventuallyPair(t, "the primary is current", func() (ok bool) {
		var err error
		first, err = s.Server(ctx)
		first.State = ServerCurrent
		return err == nil && s.NoteServer(ctx, first) == nil
	})
	checked := openPair(t, Config{URL: pair.URL(), Checked: true})
	mustPair(t, checked.Ping(ctx), pair.Failover(ctx))
	eventuallyPair(t, "nobody works with the promoted one", func() bool { return errors.Is(checked.Ping(ctx), ErrUnchecked) })
	var next Server
	eventuallyPair(t, "the promoted one answers", func() (ok bool) { // the pool had connections to the old one
		var err error
		next, err = s.Server(ctx)
		return err == nil
	})
	if next.State != ServerUnknown || !next.StartedAt.Before(first.StartedAt) {
		t.Errorf("%+v after %+v", next, first)
	}
	eventuallyPair(t, "warmup hears that nobody compared it", func() bool { uncompared, err := s.Uncompared(ctx); return err == nil && uncompared })
	next.State = ServerCurrent
	eventuallyPair(t, "it is noted and worked with", func() bool { return s.NoteServer(ctx, next) == nil && checked.Ping(ctx) == nil })
}
