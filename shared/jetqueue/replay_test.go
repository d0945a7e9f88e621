package jetqueue

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"sluice/shared/sale"
)

func TestHandOvers_VisitsAllInOrder(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	want := []uint64{mustPublish(t, q, handOver(id, 1, 2))}
	mustPublish(t, q, handOver(newSaleID(), 1, 1))
	bad, err := q.conn.RequestMsgWithContext(testContext(t), &nats.Msg{Subject: ordersPrefix + id, Data: []byte("{")})
	if err != nil || bad == nil {
		t.Fatal(err)
	}
	want = append(want, 0, mustPublish(t, q, handOver(id, 3, 1)))
	if err := fetch(t, openConsumer(t, q, id, testAckWait), 1, time.Second)[0].Ack(); err != nil {
		t.Fatal(err)
	}

	var seqs []uint64
	var ranks []int64
	err = q.HandOvers(testContext(t), id, func(seq uint64, h sale.HandOver, err error) error {
		if err != nil {
			seq = 0
		}
		seqs = append(seqs, seq)
		for _, r := range h.Reservations {
			ranks = append(ranks, r.Rank)
		}
		return nil
	})
	if err != nil || !slices.Equal(seqs, want) || !slices.Equal(ranks, []int64{1, 2, 3}) {
		t.Fatalf("messages %v, ranks %v, %v; want messages %v", seqs, ranks, err, want)
	}
}

func TestHandOvers_NoneAndStop(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	stop := errors.New("enough")
	visit := func(uint64, sale.HandOver, error) error { return stop }
	if err := q.HandOvers(testContext(t), id, visit); err != nil {
		t.Fatalf("of an empty subject: %v", err)
	}
	mustPublish(t, q, handOver(id, 1, 1))
	if err := q.HandOvers(testContext(t), id, visit); !errors.Is(err, stop) {
		t.Fatalf("got %v", err)
	}
}

// What was there when a replay began may be purged or grow too old before it is read.
func TestHandOvers_EndsWhenTheLastOneIsGone(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	for rank := range 700 { // more than one pull asks for
		mustPublish(t, q, handOver(id, rank+1, 1))
	}
	visited, ctx := 0, testContext(t)
	err := q.HandOvers(ctx, id, func(uint64, sale.HandOver, error) error {
		if visited++; visited == 1 {
			return q.Purge(testContext(t), id, 0)
		}
		return nil
	})
	if err == nil || visited == 700 || ctx.Err() != nil {
		t.Errorf("%d visited, %v; the caller's context: %v", visited, err, ctx.Err())
	}
}

func TestEachPayment_LeavesNoConsumerBehind(t *testing.T) {
	t.Parallel()
	q := ownQueue(t)
	if _, err := q.PublishPayment(testContext(t), paymentEvent(1)); err != nil {
		t.Fatal(err)
	}
	visited := 0
	if err := q.EachPayment(testContext(t), func(sale.PaymentEvent, error) error { visited++; return nil }); err != nil || visited != 1 {
		t.Fatalf("%d visited, %v", visited, err)
	}
	stream, err := q.js.Stream(testContext(t), PaymentsStream)
	if err != nil || stream.CachedInfo().State.Consumers != 0 {
		t.Errorf("%d consumers are left, %v", stream.CachedInfo().State.Consumers, err)
	}
}
