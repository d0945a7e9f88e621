package fulfil

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/sale"
	"sluice/worker/internal/pacing"
)

var errFault = errors.New("a fault of the moment")

// script is one sale's stores, played: deliveries in, calls out, in order.
type script struct {
	mu         sync.Mutex
	deliveries []Delivery // still to be fetched
	asked      []int      // limits of the fetches that waited for nothing
	calls      []string   // what happened, in order

	orderErr, settleErr, unshowErr error
	verdicts                       func(Batch) []Verdict // nil: all ordered
	unknown                        bool                  // settle finds no tickets
	bad                            map[string]bool       // rids that the database refuses
	rejectErr, buryErr             error
	patient                        bool          // a fetch that finds nothing takes time
	hold                           chan struct{} // nil, or what Order waits for
}

func (s *script) did(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

func (s *script) history() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *script) add(d Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Reply = scriptReply{s, d.Seq}
	s.deliveries = append(s.deliveries, d)
}

func (s *script) Fetch(limit int, wait time.Duration) ([]Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wait == 0 {
		s.asked = append(s.asked, limit)
	}
	n := min(limit, len(s.deliveries))
	got := s.deliveries[:n]
	s.deliveries = s.deliveries[n:]
	for i := range got {
		got[i].More = len(s.deliveries)+n-1-i > 0
	}
	if n == 0 && wait > 0 && s.patient {
		s.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		s.mu.Lock()
	}
	return got, nil
}

func (s *script) Order(_ context.Context, b Batch) ([]Verdict, error) {
	s.did("order %d", len(b.Reservations))
	if s.hold != nil {
		<-s.hold
	}
	if s.orderErr != nil {
		return nil, s.orderErr
	}
	if slices.ContainsFunc(b.Reservations, func(r sale.Reservation) bool { return s.bad[r.RID] }) {
		return nil, ErrInvalid
	}
	if s.verdicts != nil {
		return s.verdicts(b), nil
	}
	verdicts := make([]Verdict, len(b.Reservations))
	for i, r := range b.Reservations {
		verdicts[i] = Verdict{RID: r.RID, State: sale.OrderPending, Fate: FateOrdered}
	}
	return verdicts, nil
}

func (s *script) Reject(_ context.Context, b Batch, sequence uint64, _ error) (Verdict, error) {
	s.did("reject %s of %d", b.Reservations[0].RID, sequence)
	return Verdict{RID: b.Reservations[0].RID, State: sale.OrderRejected, Fate: FateInvalid}, s.rejectErr
}

func (s *script) Bury(_ context.Context, u Unreadable) (bool, error) {
	s.did("bury %d", u.Sequence)
	return true, s.buryErr
}

func (s *script) Undecided(context.Context, []string) ([]string, error) { return nil, nil }

func (s *script) EachTicket(context.Context, string, int64, func(sale.Ticket) error) error {
	return nil
}

func (s *script) LastSequence(context.Context, string) (uint64, error)       { return 0, nil }
func (s *script) Acknowledged(context.Context, string, uint64) (bool, error) { return true, nil }

func (s *script) Unshow(_ context.Context, rids []string) error {
	s.did("unshow %d", len(rids))
	return s.unshowErr
}

func (s *script) Settle(_ context.Context, _ string, epoch int64, settlements []sale.Settlement) (sale.Snapshot, []sale.Settled, error) {
	s.did("settle %d", len(settlements))
	if s.settleErr != nil {
		return sale.Snapshot{}, nil, s.settleErr
	}
	results := make([]sale.Settled, len(settlements))
	for i := range results {
		if s.unknown {
			results[i] = sale.SettleUnknown
		}
	}
	return sale.Snapshot{Epoch: epoch, Served: int64(len(settlements))}, results, nil
}

func (s *script) NotifyResults(_ string, results []sale.Result) error {
	s.did("notify %d", len(results))
	return nil
}

func (s *script) NotifyProgress(sale.Progress) error { return nil }

func (s *script) NotifySnapshot(sale.Snapshot) error { return nil }

func (s *script) Release(context.Context, string, int64, []sale.Release) (sale.Snapshot, []sale.Released, error) {
	return sale.Snapshot{}, nil, errFault
}

func (s *script) Overdue(context.Context, string, int64, time.Duration, int) ([]sale.Reservation, error) {
	return nil, nil
}
func (s *script) HandedOver(context.Context, string, int64, []string) error { return nil }

func (s *script) Snapshot(_ context.Context, _ string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	return sale.Snapshot{Epoch: epoch}, sale.HandOff{}, nil
}

func (s *script) Publish(context.Context, sale.HandOver) (uint64, error) { return 0, errFault }

func (s *script) UnappliedReleases(context.Context, int, []string) ([]PendingRelease, error) {
	return nil, nil
}
func (s *script) MarkApplied(context.Context, []string) ([]time.Duration, error) { return nil, nil }
func (s *script) Unshown(context.Context, int, []string) ([]Unshown, error)      { return nil, nil }
func (s *script) MarkShown(context.Context, []string, sale.OrderState) error     { return nil }

func (s *script) Adjust(context.Context, string, int64, []sale.Adjustment) (sale.Snapshot, []sale.AdjustResult, error) {
	return sale.Snapshot{}, nil, errFault
}

func (s *script) UnfinishedAdjustments(context.Context, int, []string) ([]PendingAdjustment, error) {
	return nil, nil
}

func (s *script) FinishAdjustment(context.Context, sale.Adjustment, int64, sale.AdjustResult) (sale.AdjustmentRow, error) {
	return sale.AdjustmentRow{}, errFault
}

func (s *script) Watch(ctx context.Context, changed func(sale.Entry), replayed func()) error {
	changed(sale.Entry{Sale: sale.Sale{ID: "phone"}, Epoch: 1, Rev: 1})
	changed(sale.Entry{Sale: sale.Sale{ID: "not-loaded"}, Rev: 1})
	replayed()
	<-ctx.Done()
	return ctx.Err()
}

// scriptReply records what a delivery was answered.
type scriptReply struct {
	script *script
	seq    uint64
}

func (r scriptReply) Ack() error        { r.script.did("ack %d", r.seq); return nil }
func (r scriptReply) InProgress() error { r.script.did("in progress %d", r.seq); return nil }

func (r scriptReply) NakAfter(pause time.Duration) error {
	r.script.did("nak %d %s", r.seq, pauseName(pause))
	return nil
}

func pauseName(pause time.Duration) string {
	switch {
	case pause == 0:
		return "at once"
	case pause >= refusedPause:
		return "refused"
	default:
		return "soon"
	}
}

func newFulfilment(s *script) *Fulfilment {
	stores := Stores{
		Catalogue: s, Orders: s, Releases: s, Shown: s, Adjusted: s, Stock: s, HandOvers: s, Hints: s,
		Consume: func(context.Context, string) (Source, error) { return s, nil },
	}
	cfg := Config{AckWait: 10 * time.Second, SweepAfter: time.Second, StopWithin: time.Second, Consumers: 4, Looks: 4}
	hit := func(string) error { return nil }
	pacer := pacing.New(pacing.Config{Target: time.Second, Floor: 1, Ceiling: 1e9, ConsumersMax: cfg.Consumers}, time.Second, func() int64 { return 0 })
	return New(cfg, stores, pacer, NewMetrics(prometheus.NewRegistry()), hit, slog.New(slog.DiscardHandler))
}

func newTestConsumer(s *script) *consumer {
	f := newFulfilment(s)
	w := &saleWorker{Fulfilment: f, saleID: "phone", log: f.log}
	w.entry.Store(&sale.Entry{Sale: sale.Sale{ID: "phone"}, Epoch: 1})
	w.progress = newProgress(w)
	w.lost = newLost(w)
	return newConsumer(w, newKeeper(f.cfg.AckWait))
}

// decideOne has one batch begun and waits for what becomes of it.
func (c *consumer) decideOne(ctx context.Context) error {
	defer c.startPacer()()
	if err := c.step(ctx, ctx); err != nil {
		return err
	}
	return c.finish()
}

func delivery(seq uint64, reservations int) Delivery {
	h := sale.HandOver{SaleID: "phone", Epoch: 1, PriceMinor: 100, Currency: "CNY"}
	for i := range reservations {
		h.Reservations = append(h.Reservations, sale.Reservation{RID: fmt.Sprintf("%d-%d", seq, i)})
	}
	return Delivery{HandOver: h, Seq: seq}
}
