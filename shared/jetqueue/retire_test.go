package jetqueue

import (
	"slices"
	"testing"
	"time"

	"sluice/shared/sale"
)

func idle(t *testing.T, q *Queue, saleID string) bool {
	t.Helper()
	is, err := q.Idle(testContext(t), saleID)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

func TestRetire_ASaleLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	q := openQueue(t)
	id, other := newSaleID(), newSaleID()
	if !idle(t, q, id) {
		t.Error("a sale without hand-overs is not idle")
	}
	mustPublish(t, q, handOver(id, 1, 1))
	mustPublish(t, q, handOver(other, 1, 1))
	if idle(t, q, id) {
		t.Error("idle with a hand-over and no consumer")
	}
	c, err := q.Consumer(testContext(t), id, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Fetch(1, time.Second)
	if err != nil || len(got) != 1 || idle(t, q, id) {
		t.Fatalf("%d fetched, %v, idle %v while it is in hand", len(got), err, idle(t, q, id))
	}
	if err := got[0].Ack(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "idle", func() bool { return idle(t, q, id) })
	if _, err := q.PutEntry(testContext(t), sale.Entry{Sale: sale.Sale{ID: id}, Epoch: 1, Rev: 1}); err != nil {
		t.Fatal(err)
	}
	known := func(id string) bool {
		t.Helper()
		ids, err := q.Known(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(ids, id)
	}
	if !known(id) {
		t.Error("not known before")
	}
	for range 2 {
		if err := q.Clear(testContext(t), id); err != nil {
			t.Fatal(err)
		}
		if err := q.RemoveEntry(testContext(t), id); err != nil {
			t.Fatal(err)
		}
	}
	if known(id) {
		t.Error("known afterwards")
	}
	if last, err := q.LastSequence(testContext(t), other); last == 0 || err != nil {
		t.Errorf("another sale's hand-over: %d, %v", last, err)
	}
}
