package funnel

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"sluice/shared/sale"
)

// attemptAt sends users' attempts, each at its moment from now, and returns when each was
// accepted, in whole milliseconds.
func (r *rig) attemptAt(t *testing.T, moments map[string]time.Duration) map[string]int {
	t.Helper()
	start := time.Now()
	type answer struct {
		user string
		ms   int
	}
	answers := make(chan answer, len(moments))
	for user, at := range moments {
		go func() {
			time.Sleep(at)
			if got := r.attempt(user); got.Outcome != sale.Accepted {
				t.Errorf("%s: %+v", user, got)
			}
			answers <- answer{user, int(time.Since(start).Milliseconds())}
		}()
	}
	accepted := make(map[string]int)
	for range moments {
		a := <-answers
		accepted[a.user] = a.ms
	}
	r.funnel.Close()
	return accepted
}

func (r *rig) attempt(user string) Result {
	return r.funnel.Attempt(r.sale, Requester{Token: user}, "")
}

// With a reserve call of 1 ms and a hand-over of 10 ms.
func handOverOf10ms(c *Config, _ *sale.Sale) { c.BatchSize = 3 }

func TestLine_ThoseWhoArriveDuringAHandOverTravelTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(100, handOverOf10ms)
		r.queue.latency = 10 * time.Millisecond
		got := r.attemptAt(t, map[string]time.Duration{"ada": 0, "bob": 2 * time.Millisecond, "cyn": 8 * time.Millisecond})
		if diff := cmp.Diff(map[string]int{"ada": 11, "bob": 22, "cyn": 22}, got); diff != "" {
			t.Errorf("accepted at (-want +got)\n%s", diff)
		}
		if diff := cmp.Diff([]int{1, 2}, r.stock.batches); diff != "" {
			t.Errorf("attempts a call (-want +got)\n%s", diff)
		}
	})
}

func TestLine_WhatIsHandedOverIsStruckOffOnceTheNextCallIsDecided(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{"decided": nil, "failed": errors.New("no reply")} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(100, asConfigured)
			calls, listed := 0, 0
			r.stock.during = func() {
				if calls++; calls == 2 {
					r.stock.err, listed = fault, r.stock.model.HandOff()
				}
			}
			var second Result
			over := make(chan struct{})
			go func() {
				defer close(over)
				time.Sleep(time.Millisecond + time.Millisecond/2) // during the first one's hand-over
				second = r.attempt("bob")
			}()
			first := r.attempt("ada")
			<-over
			r.funnel.Close()
			if first.Outcome != sale.Accepted || (second.Outcome == sale.Accepted) != (fault == nil) {
				t.Errorf("%s: %v, then %v", name, first.Outcome, second.Outcome)
			}
			if left := r.stock.model.HandOff(); listed != 1 || left != 0 {
				t.Errorf("%s: %d listed during the second call, %d in the end", name, listed, left)
			}
		})
	}
}

func TestLine_ASecondCallIsAlwaysFull(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func(*Config, *sale.Sale){
		"of a batch":      handOverOf10ms,
		"of a short line": func(c *Config, _ *sale.Sale) { c.LineLength = 3 },
		"of few places":   func(c *Config, _ *sale.Sale) { c.TotalLine = 3 },
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(100, config)
			r.queue.latency = 10 * time.Millisecond
			got := r.attemptAt(t, fourInARow(5*time.Millisecond))
			if diff := cmp.Diff(map[string]int{"ada": 11, "bob": 15, "cyn": 15, "dan": 15, "eve": 26}, got); diff != "" {
				t.Errorf("%s: accepted at (-want +got)\n%s", name, diff)
			}
		})
	}
}

// fourInARow are ada, during whose hand-over three fill a second call at 4 ms, and eve.
func fourInARow(eve time.Duration) map[string]time.Duration {
	const ms = time.Millisecond
	return map[string]time.Duration{"ada": 0, "bob": 2 * ms, "cyn": 3 * ms, "dan": 4 * ms, "eve": eve}
}

func TestLine_AHangingReserveCallKeepsNobodyFromTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(100, handOverOf10ms)
		r.queue.latency = 10 * time.Millisecond
		var calls atomic.Int32
		r.stock.during = func() {
			if calls.Add(1) == 2 {
				time.Sleep(400 * time.Millisecond)
			}
		}
		got := r.attemptAt(t, fourInARow(5*time.Millisecond))
		if diff := cmp.Diff(map[string]int{"ada": 11, "bob": 415, "cyn": 415, "dan": 415, "eve": 22}, got); diff != "" {
			t.Errorf("accepted at (-want +got)\n%s", diff)
		}
	})
}

func TestLine_WhoWaitsWhenTheLastUnitIsTakenIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(4, handOverOf10ms)
		r.queue.latency = 10 * time.Millisecond
		start := time.Now()
		for user, at := range fourInARow(4500 * time.Microsecond) {
			go func() {
				time.Sleep(at)
				got, after := r.attempt(user), time.Since(start)
				if user == "eve" && (got.Outcome != sale.SoldOut || after != 5*time.Millisecond) {
					t.Errorf("eve: %v after %v", got.Outcome, after)
				}
			}()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		r.funnel.Close()
	})
}

func TestLine_AHangingStreamIsUnavailableWithTheTicketAtEachCallsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(100, handOverOf10ms)
		r.queue.latency = time.Hour
		start := time.Now()
		want := map[string]time.Duration{"ada": 2000, "bob": 2004, "cyn": 2004, "dan": 2004, "eve": 2025}
		var wg sync.WaitGroup
		for user, at := range fourInARow(5 * time.Millisecond) {
			wg.Go(func() {
				time.Sleep(at)
				got, after := r.attempt(user), time.Since(start)
				if got.Outcome != sale.Unavailable || !got.HasTicket() || after != want[user]*time.Millisecond {
					t.Errorf("%s: %v after %v, want it after %v ms", user, got.Outcome, after, int(want[user]))
				}
			})
		}
		wg.Wait()
		r.funnel.Close()
		if n := r.stock.model.HandOff(); n != 5 {
			t.Errorf("%d are listed for the sweeper", n)
		}
	})
}

func TestLine_CloseWaitsForALateHandOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(100, asConfigured)
		r.queue.latency = time.Second
		start := time.Now()
		go r.attempt("ada")
		time.Sleep(2 * patience)
		synctest.Wait()
		r.funnel.Close()
		if took := time.Since(start); took != time.Second+time.Millisecond || len(r.stock.struck) != 1 {
			t.Errorf("closed after %v, struck off %v", took, r.stock.struck)
		}
	})
}

func TestLine_ASlowHandOverHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(100, asConfigured)
		r.queue.latency = time.Second
		got := r.attemptAt(t, map[string]time.Duration{"ada": 0, "bob": 2 * time.Millisecond, "cyn": 3 * time.Second})
		if want := int((time.Millisecond + patience + time.Millisecond + time.Second).Milliseconds()); got["bob"] != want {
			t.Errorf("bob was accepted after %d ms, want %d", got["bob"], want)
		}
		if got["cyn"] != 4001 {
			t.Errorf("cyn, who came after the late acknowledgements, was accepted after %d ms", got["cyn"])
		}
		if r.stock.model.HandOff() != 0 {
			t.Errorf("%d are still listed", r.stock.model.HandOff())
		}
	})
}
