package jetqueue

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"sluice/shared/devstack"
)

func standing(t *testing.T, q *Queue) Standing {
	t.Helper()
	s, err := q.Upkeep(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func restart(t *testing.T, server *devstack.Server, between func() error) {
	t.Helper()
	for _, step := range []func() error{server.Stop, between, func() error { return server.Restart(testContext(t)) }} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUpkeep_LeavesWhatIsThereAlone(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q := connect(t, server.URL())
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	before := standing(t, q)
	mustPublish(t, q, handOver("phone", 1, 1))
	if after := standing(t, q); after.Incarnation != before.Incarnation || after.LastSeq != 1 {
		t.Errorf("it stands as %+v, stood as %+v", after, before)
	}
	restart(t, server, func() error { return nil })
	eventually(t, "the same one comes back", func() bool {
		after, err := q.Upkeep(testContext(t))
		return err == nil && after.Incarnation == before.Incarnation && after.LastSeq == 1
	})
}

func TestUpkeep_MakesAnewWhatIsGoneWithItsCaps(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q, other := connect(t, server.URL()), connect(t, server.URL())
	caps := StreamConfig{MaxBytes: 2 << 20, MaxMessagesPerSale: 7, Replicas: 1}
	if err := q.Ensure(testContext(t), caps); err != nil {
		t.Fatal(err)
	}
	before := standing(t, q)
	mustPublish(t, q, handOver("phone", 1, 1))
	mustPut(t, q, entry("phone", 1, 1))
	restart(t, server, server.WipeData)
	var after Standing
	eventually(t, "it is made anew", func() (ok bool) {
		var err error
		after, err = q.Upkeep(testContext(t))
		return err == nil
	})
	if after.Incarnation == before.Incarnation || after.LastSeq != 0 {
		t.Errorf("it stands as %+v, stood as %+v", after, before)
	}
	eventually(t, "another process, which has seen no caps, finds it so", func() bool {
		again, err := other.Upkeep(testContext(t))
		return err == nil && again == after
	})
	stream, err := q.js.Stream(testContext(t), StreamName)
	if err != nil || configOf(stream.CachedInfo()) != caps {
		t.Errorf("caps %+v, want %+v: %v", configOf(stream.CachedInfo()), caps, err)
	}
	mustPublish(t, q, handOver("phone", 2, 1))
	mustPut(t, q, entry("phone", 1, 1))
}

func TestUpkeep_OlderCopyIsTheSameIncarnationGoneBack(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	reconnected := make(chan struct{}, 1)
	q, err := Connect(testContext(t), Config{URL: server.URL(), Log: slog.New(slog.DiscardHandler), OnReconnected: func() {
		select {
		case reconnected <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, q, handOver("phone", 1, 1))
	older := filepath.Join(t.TempDir(), "older")
	restart(t, server, func() error { return server.CopyData(older) })
	<-reconnected
	eventually(t, "it takes hand-overs again", func() bool {
		_, err := q.Publish(testContext(t), handOver("phone", 2, 1))
		return err == nil
	})
	before := standing(t, q)
	restart(t, server, func() error { return server.PutData(older) })
	<-reconnected
	after := standing(t, q)
	if after.Incarnation != before.Incarnation || after.LastSeq != 1 || before.LastSeq < 2 {
		t.Errorf("it stands as %+v, stood as %+v", after, before)
	}
}

// A running gateway must not keep a watch that says nothing any more.
func TestWatch_FollowsABucketThatWasMadeAnew(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q := connect(t, server.URL())
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	mustPut(t, q, entry("phone", 1, 3))
	w := startWatch(t, q)
	if err := q.js.DeleteKeyValue(testContext(t), BucketName); err != nil { // the connection stays
		t.Fatal(err)
	}
	standing(t, q)
	mustPut(t, q, entry("phone", 1, 2)) // older than what was told
	mustPut(t, q, entry("late", 1, 1))
	eventually(t, "new entries are told", func() bool { return w.last("late").Rev == 1 })
	mustPut(t, q, entry("phone", 1, 4))
	eventually(t, "changes are told", func() bool { return w.last("phone").Rev == 4 })
	if got := len(w.of("phone")); got != 2 {
		t.Errorf("%d calls for two changes forward", got)
	}
}

// Sequences start over in a new stream: an answer to an old delivery would be one to
// another hand-over.
func TestDelivery_OfAnEarlierConnectionIsNotAnswered(t *testing.T) {
	t.Parallel()
	server := ownServer(t)
	q := connect(t, server.URL())
	if err := q.Ensure(testContext(t), roomy()); err != nil {
		t.Fatal(err)
	}
	mustPublish(t, q, handOver("phone", 1, 1))
	fetch := func() Delivery {
		t.Helper()
		var got []Delivery
		eventually(t, "a hand-over is delivered", func() bool {
			consumer, err := q.Consumer(testContext(t), "phone", time.Minute)
			if err == nil {
				got, _ = consumer.Fetch(1, time.Second)
			}
			return len(got) == 1
		})
		return got[0]
	}
	old := fetch()
	restart(t, server, server.WipeData)
	eventually(t, "the stream is made anew", func() bool {
		_, err := q.Upkeep(testContext(t))
		return err == nil
	})
	mustPublish(t, q, handOver("phone", 2, 1)) // gets the old one's sequence
	current := fetch()
	if old.Seq != current.Seq {
		t.Fatalf("sequences %d and %d: the test needs them equal", old.Seq, current.Seq)
	}
	for name, answer := range map[string]func() error{
		"Ack": old.Ack, "InProgress": old.InProgress, "NakAfter": func() error { return old.NakAfter(0) },
	} {
		if answer() == nil {
			t.Errorf("%s of an earlier connection was sent", name)
		}
	}
	if err := q.Flush(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if pending := ackPending(testContext(t), t, q); pending != 1 {
		t.Errorf("%d hand-overs wait for their answer", pending)
	}
	if err := current.Ack(); err != nil {
		t.Error(err)
	}
	eventually(t, "the answer arrives", func() bool { return ackPending(testContext(t), t, q) == 0 })
}

func ackPending(ctx context.Context, t *testing.T, q *Queue) int {
	t.Helper()
	consumer, err := q.js.Consumer(ctx, StreamName, "phone")
	if err != nil {
		t.Fatal(err)
	}
	return consumer.CachedInfo().NumAckPending
}
