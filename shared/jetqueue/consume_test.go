package jetqueue

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const testAckWait = 10 * time.Second

func openConsumer(t testing.TB, q *Queue, saleID string, ackWait time.Duration) *Consumer {
	t.Helper()
	c, err := q.Consumer(testContext(t), saleID, ackWait)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fetch(t testing.TB, c *Consumer, limit int, wait time.Duration) []Delivery {
	t.Helper()
	deliveries, err := c.Fetch(limit, wait)
	if err != nil {
		t.Fatal(err)
	}
	return deliveries
}

func consumerInfo(t testing.TB, c *Consumer) *jetstream.ConsumerInfo {
	t.Helper()
	info, err := c.pull.Info(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestConsumer_RedeliversForEver(t *testing.T) {
	t.Parallel()
	c := openConsumer(t, openQueue(t), newSaleID(), testAckWait)
	if got := consumerInfo(t, c).Config.MaxDeliver; got != -1 {
		t.Fatalf("MaxDeliver %d", got)
	}
}

func TestFetch_TakesOnlyWhatItAsksFor(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	for i := range 10 {
		mustPublish(t, q, handOver(id, i+1, 1))
	}
	c := openConsumer(t, q, id, testAckWait)
	if got := fetch(t, c, 3, time.Second); len(got) != 3 {
		t.Fatalf("fetched %d", len(got))
	}
	if info := consumerInfo(t, c); info.NumAckPending != 3 || info.NumPending != 7 {
		t.Fatalf("%d delivered, %d waiting; want 3 and 7", info.NumAckPending, info.NumPending)
	}
	if got := fetch(t, c, 100, 0); len(got) != 7 {
		t.Fatalf("without waiting: fetched %d of 7", len(got))
	}
	if got := fetch(t, c, 100, 0); len(got) != 0 {
		t.Fatalf("fetched %d more", len(got))
	}
}

func TestFetch_DeliversInOrderAndOnlyItsSale(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	mustPublish(t, q, handOver(newSaleID(), 1, 1))
	want := []uint64{mustPublish(t, q, handOver(id, 1, 2)), mustPublish(t, q, handOver(id, 3, 1))}
	got := fetch(t, openConsumer(t, q, id, testAckWait), 2, time.Second)
	for i, d := range got {
		if d.Err != nil || d.Seq != want[i] || d.HandOver.SaleID != id || d.Redelivered {
			t.Errorf("delivery %d: %+v", i, d)
		}
	}
	if len(got) != 2 || len(got[0].HandOver.Reservations) != 2 {
		t.Fatalf("got %+v", got)
	}
}

func TestFetch_WaitsForTheFirst(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	c := openConsumer(t, q, id, testAckWait)
	got := make(chan []Delivery, 1)
	go func() {
		deliveries, _ := c.Fetch(1, testPatience)
		got <- deliveries
	}()
	eventually(t, "the fetch waits at the server", func() bool { return consumerInfo(t, c).NumWaiting == 1 })
	mustPublish(t, q, handOver(id, 1, 1))
	if d := <-got; len(d) != 1 {
		t.Fatalf("got %d", len(d))
	}
}

func TestDelivery_AckEndsIt(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	mustPublish(t, q, handOver(id, 1, 1))
	c := openConsumer(t, q, id, testAckWait)
	if err := fetch(t, c, 1, time.Second)[0].Ack(); err != nil {
		t.Fatal(err)
	}
	if err := q.Flush(testContext(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the ack floor passes it", func() bool {
		info := consumerInfo(t, c)
		return info.NumAckPending == 0 && info.NumPending == 0
	})
}

func TestDelivery_NakAfterBringsItBackLater(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	mustPublish(t, q, handOver(id, 1, 1))
	c := openConsumer(t, q, id, testAckWait)
	const pause = 300 * time.Millisecond
	first := fetch(t, c, 1, time.Second)[0]
	returned := time.Now()
	if err := first.NakAfter(pause); err != nil {
		t.Fatal(err)
	}
	again := fetch(t, c, 1, testPatience)
	if len(again) != 1 || !again[0].Redelivered || again[0].Seq != first.Seq {
		t.Fatalf("got %+v", again)
	}
	if waited := time.Since(returned); waited < pause {
		t.Fatalf("came back after %v, want %v", waited, pause)
	}
}

func TestDelivery_InProgressRenewsTheAckWait(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	mustPublish(t, q, handOver(id, 1, 1))
	const ackWait = 600 * time.Millisecond
	c := openConsumer(t, q, id, ackWait)
	d := fetch(t, c, 1, time.Second)[0]
	for end := time.Now().Add(2 * ackWait); time.Now().Before(end); {
		if err := d.InProgress(); err != nil {
			t.Fatal(err)
		}
		if got := fetch(t, c, 1, ackWait/4); len(got) != 0 {
			t.Fatal("delivered again though in progress")
		}
	}
	if got := fetch(t, c, 1, testPatience); len(got) != 1 || !got[0].Redelivered {
		t.Fatalf("not delivered again once forgotten: %+v", got)
	}
}

func TestFetch_UnreadableSurfaces(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	header := nats.Header{headerSchema: {"9"}, headerEpoch: {"3"}, "Odd": {"", "a: b"}}
	if err := q.conn.PublishMsg(&nats.Msg{Subject: ordersPrefix + id, Header: header, Data: []byte("{")}); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, q, handOver(id, 1, 1))
	got := fetch(t, openConsumer(t, q, id, testAckWait), 2, testPatience)
	if len(got) != 2 || !errors.Is(got[0].Err, ErrUnreadable) || got[0].Seq == 0 || got[1].Err != nil {
		t.Fatalf("got %+v", got)
	}
	raw := got[0].Raw
	decoded, err := nats.DecodeHeadersMsg(raw.Header)
	if diff := cmp.Diff(header, decoded); diff != "" || err != nil || raw.Epoch != 3 || string(raw.Body) != "{" {
		t.Fatalf("error %v, raw %+v, header: %s", err, raw, diff)
	}
	if got[1].Raw.Header != nil {
		t.Fatal("a readable one is kept raw")
	}
}

func TestFetch_UnreadableWithoutHeader(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	if err := q.conn.Publish(ordersPrefix+id, nil); err != nil {
		t.Fatal(err)
	}
	got := fetch(t, openConsumer(t, q, id, testAckWait), 1, testPatience)
	if len(got) != 1 || !errors.Is(got[0].Err, ErrUnreadable) || got[0].Raw.Epoch != 0 || len(got[0].Raw.Body) != 0 {
		t.Fatalf("got %+v", got)
	}
}

func TestConsumer_IsSharedAndDurable(t *testing.T) {
	t.Parallel()
	id := newSaleID()
	one, two := openQueue(t), openQueue(t)
	mustPublish(t, one, handOver(id, 1, 1))
	mustPublish(t, one, handOver(id, 2, 1))
	a := fetch(t, openConsumer(t, one, id, testAckWait), 1, time.Second)
	b := fetch(t, openConsumer(t, two, id, testAckWait), 1, time.Second)
	if len(a) != 1 || len(b) != 1 || a[0].Seq == b[0].Seq {
		t.Fatalf("got %+v and %+v", a, b)
	}
}

func TestConsumer_SurvivesServerRestart(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q := connect(t, server.URL())
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, q, handOver("phone", 1, 1))
	const ackWait = 2 * time.Second
	c := openConsumer(t, q, "phone", ackWait)
	fetch(t, c, 1, time.Second) // never acknowledged
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := server.Restart(testContext(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hand-over comes again", func() bool {
		deliveries, err := c.Fetch(1, time.Second)
		return err == nil && len(deliveries) == 1
	})
}
