package fulfil

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestConsumer_SinglesOutTheBadOne(t *testing.T) {
	t.Parallel()
	s := &script{bad: map[string]bool{"2-1": true}}
	s.add(delivery(1, 2))
	s.add(delivery(2, 2))
	if err := stepOnce(t, s); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"order 4", "order 2", "order 2", "order 1", "order 1", "reject 2-1 of 2", "settle 3", "notify 3", "ack 1", "ack 2",
	}
	if diff := cmp.Diff(want, s.history()); diff != "" {
		t.Fatal(diff)
	}
}

func TestConsumer_FaultWhileHalvingGivesEverythingBack(t *testing.T) {
	t.Parallel()
	s := &script{bad: map[string]bool{"1-0": true}, rejectErr: errFault}
	s.add(delivery(1, 2))
	s.add(delivery(2, 1))
	if err := stepOnce(t, s); !errors.Is(err, errFault) {
		t.Fatalf("error %v", err)
	}
	want := []string{"order 3", "order 1", "reject 1-0 of 1", "nak 1 soon", "nak 2 soon"}
	if diff := cmp.Diff(want, s.history()); diff != "" {
		t.Fatal(diff)
	}
}

func TestConsumer_RefusedWhileHalvingWaits(t *testing.T) {
	t.Parallel()
	s := &script{bad: map[string]bool{"1-0": true}, rejectErr: fmt.Errorf("%w: stale", ErrRefused)}
	s.add(delivery(1, 1))
	if err := stepOnce(t, s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"order 1", "reject 1-0 of 1", "nak 1 refused"}, s.history()); diff != "" {
		t.Fatal(diff)
	}
}

// TestConsumer_EveryBadOneIsRejectedAndNoOther draws batches and what is bad in
// them. The work stays within what halving costs.
func TestConsumer_EveryBadOneIsRejectedAndNoOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := &script{bad: map[string]bool{}}
		n := rapid.IntRange(1, 256).Draw(rt, "reservations")
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, n-1), 0, n).Draw(rt, "bad") {
			s.bad[fmt.Sprintf("1-%d", i)] = true
		}
		s.add(delivery(1, n))
		if err := newTestConsumer(s).decideOne(t.Context()); err != nil {
			rt.Fatal(err)
		}
		var rejected []string
		transactions := 0
		for _, call := range s.history() {
			if rest, ok := strings.CutPrefix(call, "reject "); ok {
				rejected = append(rejected, strings.TrimSuffix(rest, " of 1"))
			}
			if strings.HasPrefix(call, "order ") {
				transactions++
			}
		}
		slices.Sort(rejected)
		if len(rejected) != len(s.bad) || len(slices.Compact(rejected)) != len(s.bad) {
			rt.Fatalf("rejected %v of %v", rejected, s.bad)
		}
		for _, rid := range rejected {
			if !s.bad[rid] {
				rt.Fatalf("rejected %s, which is good", rid)
			}
		}
		const depth = 8 // log2 of 256
		if most := 1 + 2*depth*len(s.bad); transactions > most {
			rt.Fatalf("%d transactions for %d bad ones, at most %d", transactions, len(s.bad), most)
		}
		if open := n - len(s.bad); open > 0 && !slices.Contains(s.history(), fmt.Sprintf("settle %d", open)) {
			rt.Fatalf("not settled together: %v", s.history())
		}
	})
}

func TestConsumer_UnreadableIsBuriedAndAcknowledged(t *testing.T) {
	t.Parallel()
	s := &script{}
	s.add(Delivery{Seq: 1, Err: errors.New("unreadable")})
	s.add(delivery(2, 1))
	c := newTestConsumer(s)
	if err := c.decideOne(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(c.lost.loop.poked) != 1 {
		t.Error("nobody looks for its reservations")
	}
	want := []string{"bury 1", "ack 1", "order 1", "settle 1", "notify 1", "ack 2"}
	if diff := cmp.Diff(want, s.history()); diff != "" {
		t.Fatal(diff)
	}
}

func TestConsumer_UnreadableIsNotAcknowledgedBeforeItIsBuried(t *testing.T) {
	t.Parallel()
	s := &script{buryErr: errFault}
	s.add(Delivery{Seq: 1, Err: errors.New("unreadable")})
	s.add(delivery(2, 1))
	if err := stepOnce(t, s); !errors.Is(err, errFault) {
		t.Fatalf("error %v", err)
	}
	if diff := cmp.Diff([]string{"bury 1", "nak 2 soon", "nak 1 soon"}, s.history()); diff != "" {
		t.Fatal(diff)
	}
}
