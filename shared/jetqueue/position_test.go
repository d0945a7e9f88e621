package jetqueue

import (
	"testing"
	"time"
)

func acknowledged(t *testing.T, q *Queue, saleID string, sequence uint64) bool {
	t.Helper()
	done, err := q.Acknowledged(testContext(t), saleID, sequence)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestAcknowledged_OnceEverythingUpToItIs(t *testing.T) {
	t.Parallel()
	q, id := openQueue(t), newSaleID()
	if last, err := q.LastSequence(testContext(t), id); err != nil || last != 0 {
		t.Fatalf("last %d, error %v of a sale without hand-overs", last, err)
	}
	if upTo, err := q.AcknowledgedUpTo(testContext(t), id); err != nil || upTo != 0 {
		t.Fatalf("acknowledged up to %d, error %v without a consumer", upTo, err)
	}
	if _, err := q.Acknowledged(testContext(t), id, 1); err == nil {
		t.Fatal("no error without a consumer")
	}
	first, second := mustPublish(t, q, handOver(id, 1, 1)), mustPublish(t, q, handOver(id, 2, 1))
	mustPublish(t, q, handOver(newSaleID(), 3, 1))
	if last, err := q.LastSequence(testContext(t), id); err != nil || last != second {
		t.Fatalf("last %d, error %v, want %d", last, err, second)
	}
	c := openConsumer(t, q, id, testAckWait)
	if acknowledged(t, q, id, first) {
		t.Fatal("acknowledged before it was delivered")
	}
	deliveries := fetch(t, c, 2, time.Second)
	if err := deliveries[1].Ack(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second ack is in", func() bool { return consumerInfo(t, c).NumAckPending == 1 })
	if acknowledged(t, q, id, second) {
		t.Fatal("acknowledged though the first is not")
	}
	if upTo, err := q.AcknowledgedUpTo(testContext(t), id); err != nil || upTo >= first {
		t.Fatalf("acknowledged up to %d, error %v, though the first is not", upTo, err)
	}
	third := mustPublish(t, q, handOver(id, 4, 1))
	if err := deliveries[0].Ack(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the floor rises", func() bool { return acknowledged(t, q, id, second) })
	if acknowledged(t, q, id, third) {
		t.Fatal("acknowledged though the third waits")
	}
	if upTo, err := q.AcknowledgedUpTo(testContext(t), id); err != nil || upTo < second || upTo >= third {
		t.Fatalf("acknowledged up to %d, error %v, want %d", upTo, err, second)
	}
}

func TestAcknowledged_WhatAStreamHasLostIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	q := connect(t, ownServer(t).URL())
	ctx := testContext(t)
	if err := q.Ensure(ctx, roomy()); err != nil {
		t.Fatal(err)
	}
	sequence := mustPublish(t, q, handOver("phone", 1, 1))
	if err := q.js.DeleteStream(ctx, StreamName); err != nil {
		t.Fatal(err)
	}
	if err := q.Ensure(ctx, roomy()); err != nil {
		t.Fatal(err)
	}
	openConsumer(t, q, "phone", testAckWait)
	if !acknowledged(t, q, "phone", sequence) {
		t.Fatal("a floor that starts over is waited for")
	}
}
