package funnel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sluice/gateway/internal/catalog"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

// stock is the reference model behind the funnel's interface. Each call takes
// latency, so that a test can watch attempts gather behind it.
type stock struct {
	mu      sync.Mutex
	model   *sale.Model
	latency time.Duration
	err     error
	batches []int
	during  func() // called while a reserve call is under way
	lost    string // the user whose ticket cannot be read
	struck  []string
}

func (s *stock) Reserve(_ context.Context, _ string, _ int64, attempts []sale.Attempt) (sale.Snapshot, []sale.Decision, error) {
	time.Sleep(s.latency)
	if s.during != nil {
		s.during()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, len(attempts))
	if s.err != nil {
		return sale.Snapshot{}, nil, s.err
	}
	d := s.model.Reserve(time.Now(), attempts)
	for i, a := range attempts {
		if a.UserID == s.lost {
			d[i] = sale.Decision{Code: sale.DecidedLost}
		}
	}
	snap := s.model.Snapshot()
	snap.Now = time.Now()
	return snap, d, nil
}

func (s *stock) HandedOver(_ context.Context, _ string, _ int64, rids []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.struck = append(s.struck, rids...)
	s.model.HandedOver(rids)
	return nil
}

type publisher struct {
	mu        sync.Mutex
	latency   time.Duration
	err       error
	handOvers []sale.HandOver
	news      []sale.Snapshot
}

func (p *publisher) NotifySnapshot(s sale.Snapshot) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.news = append(p.news, s)
	return nil
}

func (p *publisher) Publish(ctx context.Context, h sale.HandOver) (uint64, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(p.latency):
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	p.handOvers = append(p.handOvers, h)
	return uint64(len(p.handOvers)), nil
}

// verifier takes the token for the user's id; "" is nobody.
type verifier struct{}

func (verifier) Verify(token string, _ time.Time) (auth.Identity, error) {
	if token == "" {
		return auth.Identity{}, errors.New("no token")
	}
	return auth.Identity{UserID: token}, nil
}

type noFailpoints struct{}

func (noFailpoints) Hit(string) error { return nil }

type rig struct {
	stock  *stock
	queue  *publisher
	funnel *Funnel
	sales  *catalog.Catalog
	sale   *catalog.Sale
}

func newRig(total int64, change func(*Config, *sale.Sale)) *rig {
	now := time.Now()
	s := sale.Sale{ID: "phone", Kind: sale.KindGoods, Total: total, PerUserLimit: 1, PriceMinor: 100, Currency: "CNY",
		OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), RebuyAfterRelease: true}
	c := Config{PublishTimeout: 2 * time.Second, BatchSize: 256, InFlight: 2, LineLength: 4096, TotalLine: 8192}
	change(&c, &s)
	sales := catalog.New()
	sales.Apply(sale.Entry{Sale: s, Epoch: 1, Rev: 1})
	r := &rig{stock: &stock{model: sale.NewModel(s, nil), latency: time.Millisecond}, queue: &publisher{latency: time.Millisecond},
		sales: sales, sale: sales.Find(s.ID)}
	snap := r.stock.model.Snapshot()
	snap.Now = now
	r.sale.Observe(snap, now, now)
	r.funnel = New(c, Parts{Stock: r.stock, Queue: r.queue, News: r.queue, Verifier: verifier{}, Failpoints: noFailpoints{},
		Exits: NewExits(prometheus.NewRegistry()), Calls: NewCalls(prometheus.NewRegistry()), Log: slog.New(slog.DiscardHandler)})
	return r
}

func asConfigured(*Config, *sale.Sale) {}

// attemptAll sends one attempt for each user at once and returns the results in
// the users' order.
func (r *rig) attemptAll(users ...string) []Result {
	results := make([]Result, len(users))
	var wg sync.WaitGroup
	for i, user := range users {
		wg.Go(func() { results[i] = r.funnel.Attempt(r.sale, Requester{Token: user}, "") })
	}
	wg.Wait()
	r.funnel.Close()
	return results
}

func users(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("user-%d", i)
	}
	return all
}

func count(results []Result, o sale.Outcome) int {
	n := 0
	for _, r := range results {
		if r.Outcome == o {
			n++
		}
	}
	return n
}

func TestAttempt_AcceptedOnlyAfterTheAcknowledgement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1, asConfigured)
		start := time.Now()
		got := r.attemptAll("ada")[0]
		if got.Outcome != sale.Accepted || got.Layer != sale.LayerHandOver || got.UserID != "ada" || !got.HasTicket() {
			t.Errorf("got %+v", got)
		}
		if took := time.Since(start); took < 2*time.Millisecond {
			t.Errorf("answered after %v, before the acknowledgement", took)
		}
		h := r.queue.handOvers[0]
		if h.SaleID != "phone" || h.Epoch != 1 || h.PriceMinor != 100 || h.Currency != "CNY" || h.Reservations[0].RID != got.Ticket.RID {
			t.Errorf("handed over %+v", h)
		}
		if len(r.stock.struck) != 1 {
			t.Errorf("struck off %v", r.stock.struck)
		}
	})
}

func TestAttempt_ThoseWhoArriveDuringACallTravelTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1000, asConfigured)
		results := r.attemptAll(users(700)...)
		if n := count(results, sale.Accepted); n != 700 {
			t.Errorf("%d accepted", n)
		}
		if len(r.stock.batches) > 5 {
			t.Errorf("calls of %v attempts for 700 at once", r.stock.batches)
		}
		if len(r.queue.handOvers) != len(r.stock.batches) {
			t.Errorf("%d hand-overs for %d reserve calls", len(r.queue.handOvers), len(r.stock.batches))
		}
	})
}

func TestAttempt_OneUserAtOnceIsHandedOverOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(10, asConfigured)
		results := r.attemptAll("ada", "ada", "ada", "ada", "ada")
		if a, p := count(results, sale.Accepted), count(results, sale.Replay); a != 1 || p != 4 {
			t.Errorf("%d accepted, %d replays", a, p)
		}
		for _, h := range r.queue.handOvers {
			if len(h.Reservations) != 1 {
				t.Errorf("a message with %d reservations of one rid", len(h.Reservations))
			}
		}
		if r.stock.model.Snapshot().Stock != 9 {
			t.Errorf("stock %d", r.stock.model.Snapshot().Stock)
		}
	})
}

func TestAttempt_FailedHandOverIsUnavailableWithTheTicketAndStaysListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(2, asConfigured)
		r.queue.err = errors.New("no answer")
		got := r.attemptAll("ada")[0]
		if got.Outcome != sale.Unavailable || !got.HasTicket() || r.stock.model.HandOff() != 1 {
			t.Errorf("got %+v, %d in handoff", got, r.stock.model.HandOff())
		}
		r.queue.err = nil // the buyer tries again
		again := r.attemptAll("ada")[0]
		if again.Outcome != sale.Replay || again.Ticket.RID != got.Ticket.RID || r.stock.model.HandOff() != 0 {
			t.Errorf("got %+v, %d in handoff", again, r.stock.model.HandOff())
		}
	})
}

func TestAttempt_AcknowledgedTooLateIsNotAnsweredAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(2, asConfigured)
		r.queue.latency = 3 * time.Second
		if got := r.attemptAll("ada")[0]; got.Outcome != sale.Unavailable || !got.HasTicket() {
			t.Errorf("got %+v", got)
		}
	})
}

func TestAttempt_StockFaultIsUnavailableNeverSoldOut(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errors.New("timeout"), fmt.Errorf("wrapped: %w", sale.ErrStale)} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(2, asConfigured)
			r.stock.err = err
			if got := r.attemptAll("ada")[0]; got.Outcome != sale.Unavailable || got.HasTicket() {
				t.Errorf("%v: got %+v", err, got)
			}
			_, warm := r.sale.Snapshot()
			if stale := errors.Is(err, sale.ErrStale); warm == stale {
				t.Errorf("%v: warm %v", err, warm)
			}
		})
	}
}

func TestAttempt_ALostTicketIsUnavailableForItsBuyerAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(5, asConfigured)
		r.stock.lost = "ada"
		results := r.attemptAll("ada", "bob", "cyn")
		if results[0].Outcome != sale.Unavailable || results[0].HasTicket() || count(results, sale.Accepted) != 2 {
			t.Errorf("got %+v", results)
		}
	})
}

func TestAttempt_WaitingWhenTheSaleSellsOutIsRefusedWithoutACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1, func(c *Config, _ *sale.Sale) { c.BatchSize = 1 })
		results := r.attemptAll(users(100)...)
		if a, s := count(results, sale.Accepted), count(results, sale.SoldOut); a != 1 || s != 99 {
			t.Errorf("%d accepted, %d sold out", a, s)
		}
		if len(r.stock.batches) > 2 {
			t.Errorf("%d reserve calls for one unit, of which two can be in flight", len(r.stock.batches))
		}
		if len(r.queue.news) != 1 || !r.queue.news[0].SoldOut {
			t.Errorf("broadcast %+v, want the sold-out flag once", r.queue.news)
		}
	})
}

func TestAttempt_FullLineIsBusyAndReservesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(100, func(c *Config, _ *sale.Sale) { c.BatchSize, c.LineLength = 1, 3 })
		results := r.attemptAll(users(50)...)
		accepted, busy := count(results, sale.Accepted), count(results, sale.Busy)
		if accepted+busy != 50 || busy == 0 {
			t.Errorf("%d accepted, %d busy", accepted, busy)
		}
		if got := r.stock.model.Snapshot().Accepted; got != int64(accepted) {
			t.Errorf("%d reserved for %d accepted", got, accepted)
		}
	})
}

func TestAttempt_TokenAndEligibilityComeBeforeTheLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(5, func(_ *Config, s *sale.Sale) { s.Eligibility.MinPaidOrders = 1 })
		results := r.attemptAll("", "ada")
		if results[0].Outcome != sale.Unauthenticated || results[1].Outcome != sale.NotEligible || results[1].Refusal != sale.RefusalOrders {
			t.Errorf("got %+v", results)
		}
		if len(r.stock.batches) != 0 {
			t.Errorf("%d reserve calls", len(r.stock.batches))
		}
	})
}

func TestAttempt_AdmissionBoundsTheRateOfOneSale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1000, func(c *Config, _ *sale.Sale) { c.AdmitSaleRate, c.AdmitWait = 100, 200*time.Millisecond })
		start := time.Now()
		results := r.attemptAll(users(100)...)
		// 10 at once and 20 within the wait.
		if a, b := count(results, sale.Accepted), count(results, sale.Busy); a != 30 || b != 70 {
			t.Errorf("%d accepted, %d busy", a, b)
		}
		if took := time.Since(start); took > 300*time.Millisecond {
			t.Errorf("took %v", took)
		}
		time.Sleep(time.Second) // those refused took nobody's place
		if again := r.attemptAll("late"); again[0].Outcome != sale.Accepted {
			t.Errorf("later attempt: %+v", again[0])
		}
	})
}

func TestAttempt_AdmissionBoundsTheRateInTotal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1000, func(c *Config, _ *sale.Sale) { c.AdmitRate, c.AdmitSaleRate = 50, 1000 })
		if a := count(r.attemptAll(users(100)...), sale.Accepted); a != 5 {
			t.Errorf("%d accepted, want the 5 that go at once", a)
		}
	})
}

func TestAttempt_IsHandedOverAtTheEpochItWasReservedAt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(5, asConfigured)
		next := *r.sale.Entry()
		next.Epoch, next.Rev, next.Rebuilding = 2, 2, true
		r.stock.during = func() { r.sales.Apply(next) } // a rebuild begins while the call is under way
		r.attemptAll("ada")
		if got := r.queue.handOvers[0].Epoch; got != 1 {
			t.Errorf("handed over at epoch %d what was reserved at 1", got)
		}
	})
}
