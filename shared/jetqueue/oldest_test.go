package jetqueue

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"sluice/shared/sale"
)

// acceptedAt is a hand-over of one reservation that was accepted some minutes ago.
func acceptedAt(saleID string, rank int, minutes int) (sale.HandOver, time.Time) {
	h := handOver(saleID, rank, 1)
	h.Reservations[0].AcceptedAt = time.Now().UTC().Truncate(time.Millisecond).Add(-time.Duration(minutes) * time.Minute)
	return h, h.Reservations[0].AcceptedAt
}

func wantOldest(t *testing.T, q *Queue, saleID, when string, want time.Time) {
	t.Helper()
	if at, err := q.OldestWaiting(testContext(t), saleID); err != nil || !at.Equal(want) {
		t.Errorf("%s: oldest %v, error %v, want %v", when, at, err, want)
	}
}

func TestOldestWaiting_IsTheFirstThatIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	wantOldest(t, q, id, "without hand-overs", time.Time{})
	mustPublish(t, q, handOver(newSaleID(), 9, 1))
	var accepted [3]time.Time
	var seqs [3]uint64
	for i := range accepted {
		var h sale.HandOver
		h, accepted[i] = acceptedAt(id, i+1, 10-i)
		seqs[i] = mustPublish(t, q, h)
	}
	mustPublish(t, q, handOver(newSaleID(), 9, 1))
	wantOldest(t, q, id, "without a consumer", accepted[0])
	c := openConsumer(t, q, id, testAckWait)
	wantOldest(t, q, id, "before any is delivered", accepted[0])
	deliveries := fetch(t, c, 2, time.Second)
	wantOldest(t, q, id, "delivered", accepted[0])
	if err := deliveries[1].Ack(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second ack is in", func() bool { return consumerInfo(t, c).NumAckPending == 1 })
	wantOldest(t, q, id, "acknowledged out of order", accepted[0])
	if err := deliveries[0].Ack(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the floor rises", func() bool { return acknowledged(t, q, id, seqs[1]) })
	wantOldest(t, q, id, "two acknowledged", accepted[2])
	if err := q.Purge(testContext(t), id, seqs[1]); err != nil {
		t.Fatal(err)
	}
	wantOldest(t, q, id, "purged below the floor", accepted[2])
	if err := fetch(t, c, 1, time.Second)[0].Ack(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the last is acknowledged", func() bool { return acknowledged(t, q, id, seqs[2]) })
	wantOldest(t, q, id, "all acknowledged", time.Time{})
	again, at := acceptedAt(id, 4, 1)
	mustPublish(t, q, again)
	wantOldest(t, q, id, "one more", at)
	if err := q.Purge(testContext(t), id, 0); err != nil {
		t.Fatal(err)
	}
	wantOldest(t, q, id, "purged before it was acknowledged", time.Time{})
}

func TestOldestWaiting_IsTheEarliestReservationOfAHandOver(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	h, _ := acceptedAt(id, 1, 1)
	swept, at := acceptedAt(id, 2, 7)
	h.Reservations = append(h.Reservations, swept.Reservations...)
	mustPublish(t, q, h)
	wantOldest(t, q, id, "two in one", at)
}

func TestOldestWaiting_OfWhatCannotBeReadIsWhenItCame(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	before := time.Now()
	msg := &nats.Msg{Subject: ordersPrefix + id, Data: []byte("{")}
	if _, err := q.js.PublishMsg(testContext(t), msg); err != nil {
		t.Fatal(err)
	}
	at, err := q.OldestWaiting(testContext(t), id)
	if err != nil || at.Before(before.Add(-time.Second)) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("oldest %v, error %v, want about %v", at, err, before)
	}
}

func TestOldestWaiting_WithoutAStreamIsAFault(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q := connect(t, server.URL())
	if at, err := q.OldestWaiting(testContext(t), "phone"); err == nil {
		t.Errorf("oldest %v without a stream", at)
	}
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	wantOldest(t, q, "phone", "in an empty stream", time.Time{})
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if at, err := q.OldestWaiting(testContext(t), "phone"); err == nil {
		t.Errorf("oldest %v without a server", at)
	}
}
