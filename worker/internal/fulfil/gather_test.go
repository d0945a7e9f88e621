package fulfil

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/shared/sale"
)

// TestGather_EveryDeliveryOnceInOrderNeverOver draws hand-overs of all sizes,
// epochs and faults and looks at the batches that come out.
func TestGather_EveryDeliveryOnceInOrderNeverOver(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &script{}
		n := rapid.IntRange(0, 200).Draw(t, "deliveries")
		size := rapid.SampledFrom([]int{1, 3, 100, sale.MaxHandOver})
		for i := range n {
			d := delivery(uint64(i+1), size.Draw(t, "size"))
			switch rapid.IntRange(0, 19).Draw(t, "kind") {
			case 0:
				d.HandOver, d.Err = sale.HandOver{}, errors.New("unreadable")
			case 1:
				d.HandOver.Epoch = 2
			case 2:
				d.HandOver.PriceMinor = 99
			}
			s.add(d)
		}
		g := &gatherer{keeper: newKeeper(time.Second)}
		var out []uint64
		for {
			if err := g.fill(s, idleWait); err != nil {
				t.Fatal(err)
			}
			if len(g.held) == 0 {
				break
			}
			batch, unreadable := g.take()
			checkBatch(t, batch)
			out = append(out, seqsOf(batch.deliveries)...)
			out = append(out, seqsOf(unreadable)...)
		}
		slices.Sort(out)
		if len(out) != n || len(slices.Compact(out)) != n {
			t.Fatalf("%d deliveries came out of %d", len(out), n)
		}
		if len(s.asked) > 0 && slices.Max(s.asked) > maxPull {
			t.Fatalf("asked for %d at once", slices.Max(s.asked))
		}
	})
}

func TestGather_HoldsNotAllThatNobodyCanRead(t *testing.T) {
	t.Parallel()
	s := &script{}
	for i := range 10 * maxPull {
		d := delivery(uint64(i+1), 1)
		d.HandOver, d.Err = sale.HandOver{}, errors.New("unreadable")
		s.add(d)
	}
	g := &gatherer{keeper: newKeeper(time.Second)}
	if err := g.fill(s, idleWait); err != nil || len(g.held) != maxPull {
		t.Fatalf("%d are held, want %d: %v", len(g.held), maxPull, err)
	}
	if _, unreadable := g.take(); len(unreadable) != maxPull {
		t.Errorf("%d were taken", len(unreadable))
	}
}

func checkBatch(t *rapid.T, b gathered) {
	total := 0
	for _, d := range b.deliveries {
		h := d.HandOver
		total += len(h.Reservations)
		if h.Epoch != b.Epoch || h.PriceMinor != b.PriceMinor || h.SaleID != b.SaleID {
			t.Fatalf("batch mixes %+v with %+v", h, b.Batch)
		}
	}
	if total > MaxBatch || total != len(b.Reservations) {
		t.Fatalf("batch has %d reservations, its deliveries %d", len(b.Reservations), total)
	}
	if !slices.IsSorted(seqsOf(b.deliveries)) {
		t.Fatal("batch is out of order")
	}
}

func seqsOf(deliveries []Delivery) []uint64 {
	seqs := make([]uint64, len(deliveries))
	for i, d := range deliveries {
		seqs[i] = d.Seq
	}
	return seqs
}

func TestGather_TwoFullHandOversFillABatch(t *testing.T) {
	t.Parallel()
	s := &script{}
	for i := range 4 {
		s.add(delivery(uint64(i+1), sale.MaxHandOver))
	}
	g := &gatherer{keeper: newKeeper(time.Second)}
	for range 2 {
		if err := g.fill(s, idleWait); err != nil {
			t.Fatal(err)
		}
		if batch, _ := g.take(); len(batch.Reservations) != MaxBatch || len(g.held) != 0 {
			t.Fatalf("batch of %d, %d hand-overs held", len(batch.Reservations), len(g.held))
		}
	}
}

func TestGather_OneHandOverAtMostIsPulledAhead(t *testing.T) {
	t.Parallel()
	const each = MaxBatch/3 + 1
	s := &script{}
	for i := range 7 {
		s.add(delivery(uint64(i+1), each))
	}
	g := &gatherer{keeper: newKeeper(time.Second)}
	for range 3 {
		if err := g.fill(s, idleWait); err != nil {
			t.Fatal(err)
		}
		if len(g.held) != 3 || !g.full() {
			t.Fatalf("holds %d: three do not fit, the third is the next batch's", len(g.held))
		}
		if batch, _ := g.take(); len(batch.deliveries) != 2 || len(g.held) != 1 {
			t.Fatalf("batch of %d hand-overs, %d held", len(batch.deliveries), len(g.held))
		}
	}
}

func TestGather_ALargeHandOverDoesNotKeepSmallerOnesOut(t *testing.T) {
	t.Parallel()
	s := &script{}
	for i, n := range []int{sale.MaxHandOver, 120, 100, 90} {
		s.add(delivery(uint64(i+1), n))
	}
	g := &gatherer{keeper: newKeeper(time.Second)}
	if err := g.fill(s, idleWait); err != nil {
		t.Fatal(err)
	}
	if batch, _ := g.take(); len(batch.Reservations) != sale.MaxHandOver+120+100 {
		t.Fatalf("batch of %d, %d hand-overs held", len(batch.Reservations), len(g.held))
	}
}

func TestGather_ManySmallOnesMakeOneBatch(t *testing.T) {
	t.Parallel()
	s := &script{}
	for i := range 600 {
		s.add(delivery(uint64(i+1), 1))
	}
	g := &gatherer{keeper: newKeeper(time.Second)}
	if err := g.fill(s, idleWait); err != nil {
		t.Fatal(err)
	}
	if batch, _ := g.take(); len(batch.Reservations) != MaxBatch || len(g.held) != 0 {
		t.Fatalf("batch of %d, %d held", len(batch.Reservations), len(g.held))
	}
}

// Every pull costs the stream and the worker about as much as a delivery.
func TestGather_AsksForNoMoreThanTheStreamSaysIsThere(t *testing.T) {
	t.Parallel()
	s := &script{}
	s.add(delivery(1, 1))
	g := &gatherer{keeper: newKeeper(time.Second)}
	if err := g.fill(s, idleWait); err != nil {
		t.Fatal(err)
	}
	if len(g.held) != 1 || len(s.asked) != 0 {
		t.Errorf("holds %d, asked for %v more", len(g.held), s.asked)
	}
	s.add(delivery(2, 1))
	s.add(delivery(3, 1))
	if err := g.fill(s, 0); err != nil {
		t.Fatal(err)
	}
	if len(g.held) != 3 || len(s.asked) != 1 {
		t.Errorf("holds %d after %v", len(g.held), s.asked)
	}
}
