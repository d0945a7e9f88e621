package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/sale"
)

var errFault = errors.New("broken")

// fakeRows are events that wait, by id; steps are what ApplyPayment answers, in turn.
type fakeRows struct {
	mu      sync.Mutex
	waiting []sale.Payment
	pending []string // events of pending orders
	steps   map[string][]AppliedPayment
	broken  bool
	tried   []string
	late    []*LateUnit
	ordered []int // late orders that were made together, by call
	stored  []sale.PaymentEvent
	foreign map[string]bool // events of whose order nothing is known
	looks   int             // pages that were read
}

func (f *fakeRows) UnappliedPayments(_ context.Context, after sale.Payment, limit int) (known []sale.Payment, next sale.Payment, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looks++
	i := slices.IndexFunc(f.waiting, func(p sale.Payment) bool { return p.EventID == after.EventID }) + 1
	if i == 0 { // the first, or the first since a time
		for i < len(f.waiting) && f.waiting[i].ReceivedAt.Before(after.ReceivedAt) {
			i++
		}
	}
	page := f.waiting[i:min(i+limit, len(f.waiting))]
	if len(page) == limit {
		next = page[limit-1]
	}
	return slices.DeleteFunc(slices.Clone(page), func(p sale.Payment) bool { return f.foreign[p.EventID] }), next, nil
}

func (f *fakeRows) PayPending(_ context.Context, eventIDs []string) (paid []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range eventIDs {
		if slices.Contains(f.pending, id) {
			paid = append(paid, id)
		}
	}
	f.pending = slices.DeleteFunc(f.pending, func(id string) bool { return slices.Contains(paid, id) })
	return paid, nil
}

func (f *fakeRows) ApplyPayment(ctx context.Context, id string, late *LateUnit) (AppliedPayment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, bounded := ctx.Deadline(); !bounded {
		return AppliedPayment{}, errors.New("called without a deadline")
	}
	f.tried = append(f.tried, id)
	if f.broken {
		return AppliedPayment{}, errFault
	}
	if late != nil {
		f.late = append(f.late, late)
	}
	steps := f.steps[id]
	if len(steps) == 0 {
		return AppliedPayment{Passed: true}, nil
	}
	f.steps[id] = steps[1:]
	return steps[0], nil
}

func (f *fakeRows) OrderLate(_ context.Context, h sale.HandOver) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ordered = append(f.ordered, len(h.Reservations))
	if f.broken {
		return errFault
	}
	return nil
}

func (f *fakeRows) PaymentsOpen(context.Context) (sale.OpenPayments, error) {
	return sale.OpenPayments{RefundsOwed: 2, WrongAmounts: 1, Waiting: 3}, nil
}

func (f *fakeRows) StorePayments(_ context.Context, events []sale.PaymentEvent) ([]string, error) {
	if f.broken {
		return nil, errFault
	}
	f.stored = append(f.stored, events...)
	return slices.Repeat([]string{ReceivedNew}, len(events)), nil
}

// fakeStock answers every attempt alike.
type fakeStock struct {
	decision sale.Decision
	err      error
	takes    time.Duration
}

func (f fakeStock) ReserveLate(_ context.Context, _ string, _ int64, a sale.Attempt) (sale.Snapshot, sale.Decision, error) {
	time.Sleep(f.takes)
	d := f.decision
	d.Ticket.RID = a.RID
	return sale.Snapshot{}, d, f.err
}

// pokes counts what has been poked.
type pokes struct {
	mu              sync.Mutex
	shown, released int
}

// of is what pokes one of the two.
func (p *pokes) of(which *int) func() {
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		*which++
	}
}

func newTestPayments(rows *fakeRows, stock lateStock, hit func(string) error) (*Payments, *pokes) {
	n := &pokes{}
	if hit == nil {
		hit = func(string) error { return nil }
	}
	return NewPayments(rows, stock, n.of(&n.shown), n.of(&n.released), hit, NewPaymentMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler)), n
}

const expiredRID = "01935fd2-d6eb-7592-aa3e-cd665a5d9b60"

func needsUnit() AppliedPayment {
	return AppliedPayment{PaymentDecision: sale.PaymentDecision{NeedsUnit: true}, Epoch: 7,
		Order: &sale.Order{SaleID: "phone", Reservation: sale.Reservation{RID: expiredRID, UserID: "ann"}}}
}

func result(r sale.PaymentResult) AppliedPayment {
	return AppliedPayment{PaymentDecision: sale.PaymentDecision{Result: r}, Order: &sale.Order{}}
}

func TestPayments_LateOneTakesWhatRedisSaysToPostgres(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decision sale.Decision
		want     LateUnit
	}{
		"a unit":                        {sale.Decision{Code: sale.DecidedAccepted}, LateUnit{Reservation: sale.Reservation{RID: sale.LateRID(expiredRID)}}},
		"sold out":                      {sale.Decision{Code: sale.DecidedSoldOut}, LateUnit{Refused: sale.OwedNoUnit}},
		"no slot":                       {sale.Decision{Code: sale.DecidedLimit}, LateUnit{Refused: sale.OwedNoSlot}},
		"a key that the buyer has used": {sale.Decision{Code: sale.DecidedReplay}, LateUnit{Refused: sale.OwedNoSlot}},
		"one that was closed before":    {sale.Decision{Code: sale.DecidedAccepted, Ticket: sale.Ticket{Status: sale.StatusRejected}}, LateUnit{Refused: sale.OwedNoUnit}},
	} {
		rows := &fakeRows{steps: map[string][]AppliedPayment{"e": {needsUnit(), result(sale.PaymentReplaced)}}}
		p, n := newTestPayments(rows, fakeStock{decision: c.decision}, nil)
		if _, faults := p.applyAll(t.Context(), []string{"e"}); len(faults) != 0 {
			t.Errorf("%s: %v", name, faults)
		}
		c.want.Of, c.want.Epoch = expiredRID, 7
		if diff := cmp.Diff([]*LateUnit{&c.want}, rows.late); diff != "" || n.shown != 1 {
			t.Errorf("%s: shown %d times (-want +got)\n%s", name, n.shown, diff)
		}
	}
}

func TestPayments_OrdersOfManyLateOnesAreMadeTogether(t *testing.T) {
	t.Parallel()
	other := needsUnit()
	other.Order.SaleID = "watch"
	rows := &fakeRows{steps: map[string][]AppliedPayment{
		"a": {needsUnit(), result(sale.PaymentReplaced)}, "b": {needsUnit(), needsUnit(), result(sale.PaymentReplaced)}, "c": {needsUnit(), result(sale.PaymentReplaced)},
		"alone": {other, result(sale.PaymentReplaced)}, "refused": {result(sale.PaymentOwed)},
	}}
	p, n := newTestPayments(rows, fakeStock{}, nil)
	if _, faults := p.applyAll(t.Context(), []string{"a", "b", "c", "alone", "refused"}); len(faults) != 0 {
		t.Error(faults)
	}
	if diff := cmp.Diff([]int{3}, rows.ordered); diff != "" || n.shown != 4 || len(rows.late) != 5 {
		t.Errorf("shown %d times, %d asked with a unit (-want +ordered together)\n%s", n.shown, len(rows.late), diff)
	}
}

func TestPayments_FaultsLeaveTheEventToTheNextScan(t *testing.T) {
	t.Parallel()
	steps := func() map[string][]AppliedPayment {
		return map[string][]AppliedPayment{"e": {needsUnit(), needsUnit(), result(sale.PaymentReplaced)}}
	}
	stale, _ := newTestPayments(&fakeRows{steps: steps()}, fakeStock{err: sale.ErrStale}, nil)
	if _, faults := stale.applyAll(t.Context(), []string{"e"}); len(faults) != 1 || !errors.Is(faults[0], sale.ErrStale) {
		t.Errorf("stale: %v", faults)
	}
	rows := &fakeRows{steps: steps()}
	p, n := newTestPayments(rows, fakeStock{}, func(point string) error {
		if point == LateReserved && len(rows.tried) == 1 {
			return errFault
		}
		return nil
	})
	if _, faults := p.applyAll(t.Context(), []string{"e"}); len(faults) != 1 || n.shown != 0 {
		t.Errorf("injected: %v, shown %d times", faults, n.shown)
	}
	if _, faults := p.applyAll(t.Context(), []string{"e"}); len(faults) != 0 || n.shown != 1 {
		t.Errorf("afterwards: %v, shown %d times", faults, n.shown)
	}
}

func TestPayments_ScanGoesOnWhereManyFaultsMadeItStop(t *testing.T) {
	t.Parallel()
	rows := &fakeRows{broken: true}
	for i := range 3*paymentsPage + 5 {
		rows.waiting = append(rows.waiting, sale.Payment{PaymentEvent: sale.PaymentEvent{EventID: strconv.Itoa(i)}})
	}
	p, _ := newTestPayments(rows, fakeStock{}, nil)
	for i := range len(rows.waiting)/paymentsOthers + 1 {
		err := p.others.once(t.Context())
		if want := min((i+1)*paymentsOthers, len(rows.waiting)); err == nil || len(rows.tried) != want {
			t.Errorf("scan %d: %d tried, want %d, error %v", i, len(rows.tried), want, err)
		}
	}
	if n := len(p.others.soon); n != 0 {
		t.Errorf("%d scans are to come at once though all is at fault", n)
	}
}

// A flood is taken a part at a time, one part behind the other, and young ones besides.
func TestPayments_ScansOfAFloodFollowEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &fakeRows{}
		for i := range 10 * paymentsOthers {
			rows.waiting = append(rows.waiting, sale.Payment{PaymentEvent: sale.PaymentEvent{EventID: strconv.Itoa(i)}, ReceivedAt: time.Now().Add(-time.Hour)})
		}
		rows.waiting = append(rows.waiting, sale.Payment{PaymentEvent: sale.PaymentEvent{EventID: "young"}, ReceivedAt: time.Now()})
		p, _ := newTestPayments(rows, fakeStock{}, nil)
		if err := p.others.once(t.Context()); err != nil || len(rows.tried) != paymentsOthers+1 || !slices.Contains(rows.tried, "young") {
			t.Errorf("one scan tried %d, error %v, want %d and the young one", len(rows.tried), err, paymentsOthers)
		}
		ctx, cancel := context.WithTimeout(t.Context(), paymentsEvery)
		defer cancel()
		p.Run(ctx)
		tried := make(map[string]bool)
		for _, id := range rows.tried {
			tried[id] = true
		}
		if len(tried) != len(rows.waiting) {
			t.Errorf("%d of %d were tried within %v", len(tried), len(rows.waiting), paymentsEvery)
		}
	})
}

// Another shop's events are there, many pages of them: a scan does not read them all.
func TestPayments_ScanIsBoundedHoweverManyOrdersNeverCome(t *testing.T) {
	t.Parallel()
	rows := &fakeRows{foreign: make(map[string]bool)}
	old := time.Now().Add(-time.Hour)
	add := func(id string, received time.Time) {
		rows.waiting = append(rows.waiting, sale.Payment{PaymentEvent: sale.PaymentEvent{EventID: id}, ReceivedAt: received})
	}
	const pages = 10 * paymentsPages
	for i := range pages * paymentsPage {
		id := strconv.Itoa(i)
		rows.foreign[id] = true
		add(id, old)
		if i == pages*paymentsPage/2 {
			add("known", old)
		}
	}
	add("late", time.Now())
	p, _ := newTestPayments(rows, fakeStock{}, nil)
	if err := p.others.once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows.looks > 2*paymentsPages || !slices.Equal(rows.tried, []string{"late"}) {
		t.Errorf("one scan read %d pages and tried %q, want at most %d, and the one that just came", rows.looks, rows.tried, 2*paymentsPages)
	}
	for range pages / paymentsPages {
		if err := p.others.once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Contains(rows.tried, "known") {
		t.Error("scans that go on did not get to an old event whose order is there")
	}
}

// So many come that the young ones are more than a scan looks at: it goes on among them, too.
func TestPayments_ScansGoOnAmongYoungEvents(t *testing.T) {
	t.Parallel()
	rows := &fakeRows{foreign: make(map[string]bool)}
	const pages = 10 * paymentsPages
	for i := range pages * paymentsPage {
		id, received := strconv.Itoa(i), time.Now().Add(-time.Hour)
		if i >= (pages-2*paymentsPages)*paymentsPage {
			received = time.Now()
		}
		rows.foreign[id] = true
		rows.waiting = append(rows.waiting, sale.Payment{PaymentEvent: sale.PaymentEvent{EventID: id}, ReceivedAt: received})
	}
	rows.waiting = append(rows.waiting, sale.Payment{PaymentEvent: sale.PaymentEvent{EventID: "late"}, ReceivedAt: time.Now()})
	p, _ := newTestPayments(rows, fakeStock{}, nil)
	for range 3 {
		if err := p.others.once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Contains(rows.tried, "late") {
		t.Error("the last of many young events was not tried in three scans")
	}
}

// A flood of late ones is under way, and a payment waits whose order comes just then.
func TestPayments_LateOnesKeepNoOrdinaryOneWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &fakeRows{steps: make(map[string][]AppliedPayment)}
		for i := range 100 {
			id := strconv.Itoa(i)
			rows.steps[id] = []AppliedPayment{needsUnit(), result(sale.PaymentReplaced)}
			rows.waiting = append(rows.waiting, sale.Payment{PaymentEvent: sale.PaymentEvent{EventID: id}})
		}
		rows.waiting = append(rows.waiting, sale.Payment{PaymentEvent: sale.PaymentEvent{EventID: "early"}})
		p, _ := newTestPayments(rows, fakeStock{takes: time.Second}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		time.AfterFunc(5*time.Second+paymentsEvery/4, func() { // between two scans
			rows.mu.Lock()
			defer rows.mu.Unlock()
			rows.pending = []string{"early"}
		})
		time.AfterFunc(5*time.Second+2*paymentsEvery, func() {
			rows.mu.Lock()
			defer rows.mu.Unlock()
			if len(rows.pending) != 0 {
				t.Error("it still waits two scans after its order is there")
			}
			if n := len(rows.late); n > 20 {
				t.Errorf("%d late ones are applied already: nothing was to wait for", n)
			}
		})
		p.Run(ctx)
	})
}

func TestPayments_OneThatWaitsForItsReleaseIsTriedAgainSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waits := AppliedPayment{PaymentDecision: sale.PaymentDecision{NeedsRelease: true}}
		rows := &fakeRows{steps: map[string][]AppliedPayment{"e": {waits, waits, result(sale.PaymentRefunded)}}}
		rows.waiting = []sale.Payment{{PaymentEvent: sale.PaymentEvent{EventID: "e"}}}
		p, n := newTestPayments(rows, fakeStock{}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), paymentsEvery/2)
		defer cancel()
		p.Run(ctx)
		if len(rows.tried) != 3 || n.released != 3 || n.shown != 0 {
			t.Errorf("tried %d times, released %d times, shown %d times", len(rows.tried), n.released, n.shown)
		}
	})
}

func TestPayments_OneThatWaitsForLongIsTriedAsRarelyAsAnyOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const away = time.Minute // Redis, so that no release is applied
		waits := AppliedPayment{PaymentDecision: sale.PaymentDecision{NeedsRelease: true}}
		rows := &fakeRows{steps: map[string][]AppliedPayment{"e": slices.Repeat([]AppliedPayment{waits}, int(away/paymentsSoon))}}
		rows.waiting = []sale.Payment{{PaymentEvent: sale.PaymentEvent{EventID: "e"}}}
		p, _ := newTestPayments(rows, fakeStock{}, nil)
		ctx, cancel := context.WithTimeout(t.Context(), away)
		defer cancel()
		p.Run(ctx)
		if n, most := len(rows.tried), int(away/paymentsEvery)+10; n > most {
			t.Errorf("tried %d times in %v, want at most %d", n, away, most)
		}
		rows.steps["e"] = []AppliedPayment{result(sale.PaymentOwed)}
		if err := p.others.once(t.Context()); err != nil || p.others.pause != paymentsSoon {
			t.Errorf("once nothing waits, the pause is %v, error %v", p.others.pause, err)
		}
	})
}

// fakeSource delivers batches, and then nothing for as long as it is asked to wait.
type fakeSource struct {
	batches [][]PaymentDelivery
	err     error
}

func (f *fakeSource) Fetch(_ int, wait time.Duration) ([]PaymentDelivery, error) {
	if len(f.batches) == 0 {
		time.Sleep(wait)
		return nil, f.err
	}
	batch := f.batches[0]
	f.batches = f.batches[1:]
	return batch, nil
}

// replies counts acknowledgements, by event.
type replies struct{ acks, naks int }

func (r *replies) Ack() error                   { r.acks++; return nil }
func (r *replies) NakAfter(time.Duration) error { r.naks++; return nil }

func delivery(id string) (PaymentDelivery, *replies) {
	r := &replies{}
	return PaymentDelivery{Event: sale.PaymentEvent{EventID: id}, Reply: r}, r
}

func TestReceiver_AcknowledgesWhatIsStoredAndNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ordinary, first := delivery("ordinary")
		other, second := delivery("other")
		unreadable, third := delivery("")
		unreadable.Err = errFault
		rows := &fakeRows{pending: []string{"ordinary"}}
		p, n := newTestPayments(rows, fakeStock{}, nil)
		opened := 0
		r := NewReceiver(func(context.Context) (PaymentSource, error) {
			if opened++; opened == 1 {
				return nil, errFault
			}
			return &fakeSource{batches: [][]PaymentDelivery{{ordinary, unreadable, other}}, err: errFault}, nil
		}, rows, p)
		ctx, cancel := context.WithTimeout(t.Context(), receiveAgain+receiveWait/2)
		defer cancel()
		r.Run(ctx)
		if opened != 2 || len(rows.stored) != 2 || *first != (replies{acks: 1}) || *second != (replies{acks: 1}) || *third != (replies{naks: 1}) {
			t.Errorf("opened %d times, %d stored, replies %v %v %v", opened, len(rows.stored), *first, *second, *third)
		}
		if n.shown != 1 || len(rows.tried) != 0 || len(p.others.soon) != 1 {
			t.Errorf("shown %d times, %d tried one by one, %d scans to come", n.shown, len(rows.tried), len(p.others.soon))
		}
	})
}

func TestReceiver_GivesBackWhatIsNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for point, broken := range map[string]bool{"the store": true, PaymentStored: false} {
			d, got := delivery("e")
			rows := &fakeRows{broken: broken}
			p, _ := newTestPayments(rows, fakeStock{}, func(string) error { return errFault })
			r := NewReceiver(func(context.Context) (PaymentSource, error) {
				return &fakeSource{batches: [][]PaymentDelivery{{d}}}, nil
			}, rows, p)
			if err := r.receive(t.Context()); !errors.Is(err, errFault) || *got != (replies{naks: 1}) {
				t.Errorf("%s: replies %v, error %v", point, *got, err)
			}
		}
	})
}
