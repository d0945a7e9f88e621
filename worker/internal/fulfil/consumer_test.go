package fulfil

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"sluice/shared/sale"
)

// stepOnce lets a consumer decide what the script delivers.
func stepOnce(t *testing.T, s *script) error {
	t.Helper()
	c := newTestConsumer(s)
	err := c.decideOne(t.Context())
	if err != nil {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the pause itself is not waited for
		c.backOff(ctx, err)
	}
	if len(c.keeper.hand) != 0 {
		t.Errorf("%d deliveries are still kept", len(c.keeper.hand))
	}
	return err
}

func TestConsumer_StepInOrder(t *testing.T) {
	t.Parallel()
	expired := func(b Batch) []Verdict {
		return []Verdict{
			{RID: b.Reservations[0].RID, State: sale.OrderPending, Fate: FateOrdered},
			{RID: b.Reservations[1].RID, State: sale.OrderRejected, Fate: FateDuplicate},
			{RID: b.Reservations[2].RID, State: sale.OrderExpired, Fate: FateKnown},
		}
	}
	closed := func(b Batch) []Verdict {
		return []Verdict{{RID: b.Reservations[0].RID, State: sale.OrderRejected, Fate: FateSurplus}}
	}
	for name, test := range map[string]struct {
		script *script
		faulty bool
		want   []string
	}{
		"all well":        {script: &script{}, want: []string{"order 3", "settle 3", "notify 3", "ack 1", "ack 2"}},
		"only open ones":  {script: &script{verdicts: expired}, want: []string{"order 3", "settle 1", "notify 1", "ack 1", "ack 2"}},
		"none open":       {script: &script{verdicts: closed}, want: []string{"order 3", "ack 1", "ack 2"}},
		"not settled":     {script: &script{settleErr: errFault}, want: []string{"order 3", "settle 3", "unshow 3", "ack 1", "ack 2"}},
		"stale in redis":  {script: &script{settleErr: sale.ErrStale}, want: []string{"order 3", "settle 3", "unshow 3", "ack 1", "ack 2"}},
		"unknown tickets": {script: &script{unknown: true}, want: []string{"order 3", "settle 3", "unshow 3", "ack 1", "ack 2"}},
		"neither": {
			script: &script{settleErr: errFault, unshowErr: errFault}, faulty: true,
			want: []string{"order 3", "settle 3", "unshow 3", "nak 1 soon", "nak 2 soon"},
		},
		"postgres faulty": {script: &script{orderErr: errFault}, faulty: true, want: []string{"order 3", "nak 1 soon", "nak 2 soon"}},
		"refused": {
			script: &script{orderErr: fmt.Errorf("%w: stale", ErrRefused)},
			want:   []string{"order 3", "nak 1 refused", "nak 2 refused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := test.script
			s.add(delivery(1, 2))
			s.add(delivery(2, 1))
			if err := stepOnce(t, s); (err != nil) != test.faulty {
				t.Errorf("error %v, want one: %t", err, test.faulty)
			}
			if diff := cmp.Diff(test.want, s.history()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConsumer_PausesLongerWithEveryFaultUpToALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestConsumer(&script{})
		for _, want := range []time.Duration{
			shortestPause, 2 * shortestPause, 4 * shortestPause, 8 * shortestPause, 16 * shortestPause, 32 * shortestPause, longestPause, longestPause,
		} {
			start := time.Now()
			c.backOff(t.Context(), errFault)
			if waited := time.Since(start); waited != want {
				t.Fatalf("paused %v, want %v", waited, want)
			}
		}
	})
}

// A fault of the stream while there is nothing to order leaves no success behind that
// would end it.
func TestConsumer_AFaultLongAfterTheLastPausesShortly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestConsumer(&script{})
		for range 10 {
			c.backOff(t.Context(), errFault)
		}
		time.Sleep(2 * forgetAfter)
		if c.backOff(t.Context(), errFault); c.pause != shortestPause {
			t.Errorf("paused %v", c.pause)
		}
	})
}

func TestKeeper_RenewsWhatIsInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		one, two := delivery(1, 1), delivery(2, 1)
		one.Reply, two.Reply = scriptReply{s, 1}, scriptReply{s, 2}
		k := newKeeper(3 * time.Second)
		ended := make(chan struct{})
		go func() { defer close(ended); k.run(t.Context()) }()
		k.keep([]Delivery{one, two})
		k.release([]Delivery{one})
		time.Sleep(2500 * time.Millisecond)
		k.release([]Delivery{two})
		time.Sleep(5 * time.Second)
		close(k.done)
		<-ended
		if diff := cmp.Diff([]string{"in progress 2", "in progress 2"}, s.history()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// One copy of a hand-over is done with while the other still waits for its turn.
func TestKeeper_RenewsWhatIsInHandTwiceUntilBothAreDoneWith(t *testing.T) {
	t.Parallel()
	s := &script{}
	first, again := delivery(1, 1), delivery(1, 1)
	first.Reply, again.Reply = scriptReply{s, 1}, scriptReply{s, 1}
	k := newKeeper(time.Second)
	k.keep([]Delivery{first})
	k.keep([]Delivery{again})
	for range 3 { // the third time nothing is left
		k.renew()
		k.release([]Delivery{first})
	}
	if diff := cmp.Diff([]string{"in progress 1", "in progress 1"}, s.history()); diff != "" {
		t.Fatal(diff)
	}
}

// TestRun_StopsWhatItStarted is not parallel: it counts goroutines.
func TestRun_StopsWhatItStarted(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := &script{}
	s.add(delivery(1, 2))
	ctx, cancel := context.WithCancel(context.Background())
	replayed := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- newFulfilment(s).Run(ctx, func() { close(replayed) }) }()
	<-replayed
	for deadline := time.Now().Add(10 * time.Second); len(s.history()) < 4; {
		if time.Now().After(deadline) {
			t.Fatalf("got as far as %v", s.history())
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}

// What a rebuild waits for is ordered at once; what waits for the rebuild is given back alone.
func TestConsumer_ABatchThatReachesBeyondTheRebuildIsTakenApart(t *testing.T) {
	t.Parallel()
	s := &script{orderErr: fmt.Errorf("order: %w", &BeyondError{LastSeq: 2, Cause: errFault})}
	s.add(delivery(1, 2))
	s.add(delivery(3, 1))
	s.add(delivery(2, 4))
	c := newTestConsumer(s)
	for range 2 {
		if err := c.decideOne(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.orderErr = nil
	}
	want := []string{"order 7", "nak 3 soon", "order 6", "settle 6", "notify 6", "ack 1", "ack 2"}
	if diff := cmp.Diff(want, s.history()); diff != "" {
		t.Error(diff)
	}
	if len(c.keeper.hand) != 0 {
		t.Errorf("%d deliveries are still kept", len(c.keeper.hand))
	}
}
