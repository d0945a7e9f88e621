package fulfil

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/worker/internal/pacing"
)

// running consumes what the script delivers until the test ends.
func running(t *testing.T, s *script) (c *consumer, stop func()) {
	t.Helper()
	s.patient = true
	c = newTestConsumer(s)
	return c, c.start(t)
}

func (c *consumer) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stopPacer := c.startPacer()
	ended := make(chan struct{})
	go func() { defer close(ended); c.run(ctx, t.Context()) }()
	return func() {
		cancel()
		<-ended
		stopPacer()
		if len(c.keeper.hand) != 0 {
			t.Errorf("%d deliveries are still kept", len(c.keeper.hand))
		}
	}
}

func TestConsumer_FullBatchesAreOrderedSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{hold: make(chan struct{})}
		for i := range 12 {
			s.add(delivery(uint64(i+1), 250))
		}
		c, stop := running(t, s)
		time.Sleep(20 * time.Millisecond)
		if n := c.pacer.State().InFlight; n != 2 { // which a worker begins with
			t.Errorf("%d in flight, want 2", n)
		}
		close(s.hold)
		time.Sleep(5 * time.Second)
		stop()
		acks := 0
		for _, call := range s.history() {
			if len(call) > 3 && call[:3] == "ack" {
				acks++
			}
		}
		if acks != 12 {
			t.Errorf("%d acknowledged: %v", acks, s.history())
		}
	})
}

// While a transaction is in flight, what comes is gathered for the next one; then it is
// ordered at once.
func TestConsumer_ASmallBatchWaitsForTheOneInFlightAndGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{hold: make(chan struct{})}
		s.add(delivery(1, 1))
		_, stop := running(t, s)
		synctest.Wait()
		for i := range 10 {
			s.add(delivery(uint64(i+2), 3))
			time.Sleep(100 * time.Millisecond)
		}
		if diff := cmp.Diff([]string{"order 1"}, s.history()); diff != "" {
			t.Error(diff)
		}
		s.hold <- struct{}{}
		synctest.Wait() // no time passes

		want := []string{"ack 1", "notify 1", "order 1", "order 30", "settle 1"} // side by side
		if diff := cmp.Diff(want, slices.Sorted(slices.Values(s.history()))); diff != "" {
			t.Error(diff)
		}
		close(s.hold)
		time.Sleep(time.Second)
		stop()
	})
}

// The batches of one outage lead to one pause, not to as many.
func TestConsumer_AFaultOfSeveralBatchesPausesOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{hold: make(chan struct{}), orderErr: errFault}
		for i := range 4 {
			s.add(delivery(uint64(i+1), 250))
		}
		c, stop := running(t, s)
		time.Sleep(20 * time.Millisecond)
		close(s.hold)
		time.Sleep(shortestPause + 50*time.Millisecond)
		naks := 0
		for _, call := range s.history() {
			if call[:3] == "nak" {
				naks++
			}
		}
		stop()
		if c.pause != shortestPause || naks != 4 {
			t.Errorf("pause %v, %d given back: %v", c.pause, naks, s.history())
		}
	})
}

// A turn may be long in coming. What failed meanwhile is heeded before more is begun.
func TestConsumer_AFaultWhileItWaitsForItsTurnComesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{hold: make(chan struct{}), orderErr: errFault, patient: true}
		for i := range 6 {
			s.add(delivery(uint64(i+1), 250))
		}
		c := newTestConsumer(s)
		c.pacer = pacing.New(pacing.Config{Target: time.Minute, Floor: 500, Ceiling: 500, ConsumersMax: 4}, time.Second, func() int64 { return 0 })
		stop := c.start(t)
		time.Sleep(100 * time.Millisecond) // two are in flight, the third is due in a second
		close(s.hold)
		time.Sleep(5 * time.Second)
		stop()
		counts := map[string]int{}
		for _, call := range s.history() {
			counts[call[:3]]++
		}
		if counts["ord"] != 2 || counts["nak"] != 6 {
			t.Errorf("%v", s.history())
		}
	})
}

func TestConsumer_StopFinishesWhatIsInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{hold: make(chan struct{})}
		for i := range 6 {
			s.add(delivery(uint64(i+1), 250))
		}
		_, stop := running(t, s)
		time.Sleep(20 * time.Millisecond)
		stopped := make(chan struct{})
		go func() { defer close(stopped); stop() }()
		synctest.Wait()
		close(s.hold)
		<-stopped
		counts := map[string]int{}
		for _, call := range s.history() {
			counts[call[:3]]++
		}
		if counts["ack"] != 4 || counts["nak"] == 0 {
			t.Errorf("%v", s.history())
		}
	})
}
