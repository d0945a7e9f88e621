package jetqueue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"sluice/shared/devstack"
	"sluice/shared/sale"
)

const clusterPatience = 2 * time.Minute // elections on a busy machine

func ownCluster(t *testing.T) (context.Context, *devstack.NATSCluster) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real servers, and -short is set")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*clusterPatience)
	t.Cleanup(cancel)
	cluster, err := devstack.StartNATSCluster(ctx, devstack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return ctx, cluster
}

// replicated is the configuration of a cluster.
func replicated() StreamConfig {
	c := roomy()
	c.Replicas = 3
	return c
}

// traffic publishes one hand-over after the other, each until it is acknowledged, and
// consumes what comes, until stop.
type traffic struct {
	mu       sync.Mutex
	acked    map[uint64]string // rid by the sequence of its acknowledgement
	unknown  int               // publishes without one
	consumed map[string]int
	stop     func()
}

func runTraffic(t *testing.T, q *Queue, saleID string) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	tr := &traffic{acked: map[uint64]string{}, consumed: map[string]int{}}
	var running sync.WaitGroup
	running.Go(func() { tr.publish(ctx, t, q, saleID) })
	running.Go(func() { tr.consume(ctx, q, saleID) })
	tr.stop = func() { cancel(); running.Wait() }
	return tr
}

func (tr *traffic) publish(ctx context.Context, t *testing.T, q *Queue, saleID string) {
	for n := 1; ctx.Err() == nil; {
		h := handOver(saleID, n, 1)
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		seq, err := q.Publish(call, h)
		cancel()
		tr.mu.Lock()
		switch _, twice := tr.acked[seq]; {
		case err != nil:
			tr.unknown++
		case twice:
			t.Errorf("sequence %d was acknowledged twice", seq)
		default:
			tr.acked[seq] = h.Reservations[0].RID
			n++
		}
		tr.mu.Unlock()
		if err != nil {
			time.Sleep(5 * time.Millisecond) // a cluster without a leader says so at once
		}
	}
}

func (tr *traffic) consume(ctx context.Context, q *Queue, saleID string) {
	for ctx.Err() == nil {
		open, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		consumer, err := q.Consumer(open, saleID, 5*time.Second)
		cancel()
		for err == nil && ctx.Err() == nil {
			var deliveries []Delivery
			deliveries, err = consumer.Fetch(100, 200*time.Millisecond)
			for _, d := range deliveries {
				tr.mu.Lock()
				tr.consumed[d.HandOver.Reservations[0].RID]++
				tr.mu.Unlock()
				_ = d.Ack() // a lost one means a redelivery
			}
		}
	}
}

func (tr *traffic) counts() (acked, unknown, consumed int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.acked), tr.unknown, len(tr.consumed)
}

// within is eventually for what a cluster does.
func within(ctx context.Context, t *testing.T, what string, ok func() bool) {
	t.Helper()
	began := time.Now()
	for !ok() {
		if ctx.Err() != nil || time.Since(began) > clusterPatience {
			t.Fatalf("not within %v: %s", clusterPatience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Logf("%s after %v", what, time.Since(began).Round(10*time.Millisecond))
}

func (tr *traffic) goesOn(ctx context.Context, t *testing.T, since string) {
	t.Helper()
	acked, _, consumed := tr.counts()
	within(ctx, t, "hand-overs are acknowledged and consumed "+since, func() bool {
		nowAcked, _, nowConsumed := tr.counts()
		return nowAcked > acked+50 && nowConsumed > consumed+50
	})
}

func TestCluster_LeaderAndQuorumAreLostUnderLoad(t *testing.T) {
	t.Parallel()
	ctx, cluster := ownCluster(t)
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	q := connect(t, cluster.URL())
	must(q.Ensure(ctx, replicated()), cluster.AwaitStream(ctx, StreamName), cluster.AwaitStream(ctx, bucketStream))
	saleID := newSaleID()
	began := standing(t, q)
	watched := watchRevs(t, q, saleID)
	mustPut(t, q, entry(saleID, 1, 1))
	within(ctx, t, "the watch tells the first entry", func() bool { return watched() == 1 })
	tr := runTraffic(t, q, saleID)
	tr.goesOn(ctx, t, "at first")

	leader, err := cluster.Leader(ctx, StreamName)
	must(err, leader.Kill())
	tr.goesOn(ctx, t, "without the leader")
	within(ctx, t, "the catalogue takes an entry without the leader", func() bool { return putNow(q, entry(saleID, 1, 2)) == nil })
	within(ctx, t, "the watch tells it", func() bool { return watched() == 2 })
	must(leader.Restart(ctx), cluster.AwaitReady(ctx), cluster.AwaitStream(ctx, StreamName))

	must(cluster.StepDown(ctx, StreamName))
	tr.goesOn(ctx, t, "after the leader stepped down")

	dead := cluster.Servers()[:2]
	must(dead[0].Kill(), dead[1].Kill())
	_, before, _ := tr.counts()
	within(ctx, t, "publishes have no outcome without quorum", func() bool { _, now, _ := tr.counts(); return now > before+5 })
	wantTruthOrNothing(ctx, t, q, saleID, began, tr.highest())
	var probe Probe
	probe.Connected(q)
	answers := func() bool {
		call, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return probe.Ask(call) == nil
	}
	within(ctx, t, "the probe tells that nobody leads", func() bool { return !answers() })
	must(dead[0].Restart(ctx), dead[1].Restart(ctx), cluster.AwaitReady(ctx))
	tr.goesOn(ctx, t, "with quorum again")
	within(ctx, t, "the probe tells that somebody does", answers)
	within(ctx, t, "the catalogue takes an entry with quorum again", func() bool { return putNow(q, entry(saleID, 1, 3)) == nil })
	within(ctx, t, "the watch tells it", func() bool { return watched() == 3 })

	within(ctx, t, "everything acknowledged is consumed", func() bool { tr.mu.Lock(); defer tr.mu.Unlock(); return len(tr.missing()) == 0 })
	tr.stop()
	after, err := q.Upkeep(ctx)
	must(err)
	if after.Incarnation != began.Incarnation {
		t.Errorf("it is %s, was %s", after.Incarnation, began.Incarnation)
	}
	tr.isIn(ctx, t, q, saleID)
}

// wantTruthOrNothing reads without quorum. The server that is left may lead on for some
// seconds, and what it says is true then. Later there is no answer, and never one that
// something is not there, or less of it.
func wantTruthOrNothing(ctx context.Context, t *testing.T, q *Queue, saleID string, began Standing, acked uint64) {
	t.Helper()
	for name, read := range map[string]func(context.Context) (bool, error){
		"upkeep": func(ctx context.Context) (bool, error) {
			now, err := q.Upkeep(ctx)
			return now.Incarnation == began.Incarnation && now.LastSeq >= acked, err
		},
		"last sequence": func(ctx context.Context) (bool, error) {
			last, err := q.LastSequence(ctx, saleID)
			return last >= acked, err
		},
		"catalogue": func(ctx context.Context) (bool, error) {
			e, found, err := q.Announced(ctx, saleID)
			return found && e.Rev == 2, err
		},
	} {
		for range 5 {
			call, cancel := context.WithTimeout(ctx, 3*time.Second)
			isTrue, err := read(call)
			cancel()
			if err == nil && !isTrue || errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrMsgNotFound) {
				t.Errorf("%s without quorum: true %v, %v", name, isTrue, err)
			}
		}
	}
}

// highest is the highest sequence that was acknowledged.
func (tr *traffic) highest() (seq uint64) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for s := range tr.acked {
		seq = max(seq, s)
	}
	return seq
}

// missing are the acknowledged ones that were not consumed. mu is held.
func (tr *traffic) missing() (rids []string) {
	for _, rid := range tr.acked {
		if tr.consumed[rid] == 0 {
			rids = append(rids, rid)
		}
	}
	return rids
}

// isIn checks that the stream has every acknowledged hand-over, at its sequence.
func (tr *traffic) isIn(ctx context.Context, t *testing.T, q *Queue, saleID string) {
	t.Helper()
	stored := map[uint64]string{}
	err := q.HandOvers(ctx, saleID, func(seq uint64, h sale.HandOver, err error) error {
		stored[seq] = h.Reservations[0].RID
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for seq, rid := range tr.acked {
		if stored[seq] != rid {
			t.Errorf("sequence %d holds %q, and %s was acknowledged there", seq, stored[seq], rid)
		}
	}
	acked, unknown, _ := tr.counts()
	t.Logf("%d acknowledged, %d without an outcome, %d stored", acked, unknown, len(stored))
}

func putNow(q *Queue, e sale.Entry) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, err := q.PutEntry(ctx, e)
	return err
}

// watchRevs follows the catalogue, and returns what says the latest rev that it told of a sale.
func watchRevs(t *testing.T, q *Queue, saleID string) (rev func() int64) {
	t.Helper()
	var mu sync.Mutex
	var latest int64
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = q.Watch(ctx, func(e sale.Entry) {
			mu.Lock()
			defer mu.Unlock()
			if e.ID == saleID {
				latest = e.Rev
			}
		}, func() {})
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return func() int64 {
		mu.Lock()
		defer mu.Unlock()
		return latest
	}
}

func TestCluster_MakesAnewOnlyWhatStaysAway(t *testing.T) {
	t.Parallel()
	ctx, cluster := ownCluster(t)
	q := connect(t, cluster.URL())
	if err := q.Ensure(ctx, replicated()); err != nil {
		t.Fatal(err)
	}
	before := standing(t, q)
	if err := q.js.DeleteStream(ctx, StreamName); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := q.Upkeep(ctx); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Fatalf("at once: %v", err)
	}
	var after Standing
	within(ctx, t, "the stream is made anew", func() (ok bool) {
		now, err := q.Upkeep(ctx)
		after = now
		return err == nil
	})
	if after.Incarnation == before.Incarnation || time.Since(began) < goneFor {
		t.Errorf("made anew after %v: %+v, was %+v", time.Since(began), after, before)
	}
	for _, name := range []string{StreamName, PaymentsStream, bucketStream} {
		stream, err := q.js.Stream(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		if c := stream.CachedInfo().Config; c.Replicas != 3 || c.AllowDirect {
			t.Errorf("%s has %d replicas, direct gets %v", name, c.Replicas, c.AllowDirect)
		}
	}
}

func TestAbsence_IsBelievedOnceItLasts(t *testing.T) {
	t.Parallel()
	var a absence
	now := time.Unix(1_000_000, 0)
	for _, step := range []struct {
		after time.Duration
		gone  bool
		want  bool
	}{
		{0, true, false}, {goneFor - 1, true, false}, {1, true, true}, // stayed away
		{1, false, false}, {1, true, false}, {goneFor, true, true}, // it was there meanwhile
	} {
		now = now.Add(step.after)
		if got := a.lasts("stream", step.gone, now); got != step.want {
			t.Errorf("%+v: %v", step, got)
		}
		if a.lasts("other", false, now) {
			t.Error("another stream is gone too")
		}
	}
}
