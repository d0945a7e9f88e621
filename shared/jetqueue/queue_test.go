package jetqueue

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sluice/shared/sale"
)

func TestConnect_GivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	q, err := Connect(ctx, Config{URL: "nats://127.0.0.1:1", Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		q.Close()
		t.Fatal("connected")
	}
}

func TestEnsure_IsIdempotentAndReadySeesIt(t *testing.T) {
	t.Parallel()
	q := connect(t, ownServer(t).URL())
	if err := q.Ready(testContext(t)); err == nil {
		t.Fatal("ready without a stream")
	}
	for range 2 {
		if err := q.Ensure(testContext(t), roomy()); err != nil {
			t.Fatal(err)
		}
	}
	mustPublish(t, q, handOver("phone", 1, 1))
	larger := roomy()
	larger.MaxBytes *= 2
	if err := q.Ensure(testContext(t), larger); err != nil {
		t.Fatal(err)
	}
	storedMessage(t, q, 1)
	if err := q.Ready(testContext(t)); err != nil {
		t.Fatal(err)
	}
}

// TestQueue_CloseLeavesNothingBehind is not parallel: it counts goroutines.
func TestQueue_CloseLeavesNothingBehind(t *testing.T) {
	server := ownServer(t)
	before := goleak.IgnoreCurrent()
	var closed atomic.Int32
	q, err := Connect(testContext(t), Config{
		URL: server.URL(), Log: slog.New(slog.DiscardHandler), OnClosed: func() { closed.Add(1) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended, replayed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = q.Watch(ctx, func(sale.Entry) {}, func() { close(replayed) })
	}()
	<-replayed
	stop, err := q.SubscribeProgress(func(sale.Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	mustPublish(t, q, handOver("phone", 1, 1))
	fetch(t, openConsumer(t, q, "phone", testAckWait), 5, 100*time.Millisecond)
	cancel()
	<-ended
	stop()
	q.Close()
	goleak.VerifyNone(t, before)
	if closed.Load() != 0 {
		t.Error("OnClosed was called for a Close of our own")
	}
}
