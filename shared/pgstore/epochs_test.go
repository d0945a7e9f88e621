package pgstore

import (
	"errors"
	"testing"

	"sluice/shared/sale"
)

// handedOver is a batch of epoch 1 whose reservations came in hand-overs with
// these sequences.
func handedOver(sequences []uint64, rs ...sale.Reservation) Batch {
	b := batchOf("phone", rs...)
	b.Sequences = sequences
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rebuilding is a store whose sale has begun its second epoch.
func rebuilding(t *testing.T) *Store {
	t.Helper()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	_, requested, err := s.RequestRebuild(t.Context(), "phone", 1, 0)
	must(t, err)
	if !requested {
		t.Fatal("not requested")
	}
	return s
}

func TestOrder_OlderEpochIsOrderedUntilTheLoadKnowsItsLastSequence(t *testing.T) {
	t.Parallel()
	s := rebuilding(t)
	result := order(t, s, handedOver([]uint64{5, 900}, reservations(2)...))
	wantCounts(t, result, 2, 0, 0, 0)
	wantHeld(t, s, "phone", 2)
}

func TestOrder_OlderEpochUpToTheLastSequenceIsOrderedAndBeyondItWaits(t *testing.T) {
	t.Parallel()
	s := rebuilding(t)
	rs := reservations(3)
	must(t, s.SetLastSequence(t.Context(), "phone", 2, 7))
	_, err := s.Order(t.Context(), handedOver([]uint64{6, 7, 8}, rs...))
	var beyond *BeyondError
	if !errors.As(err, &beyond) || beyond.LastSeq != 7 {
		t.Fatalf("error %v, want one that names 7", err)
	}
	wantHeld(t, s, "phone", 0)
	wantCounts(t, order(t, s, handedOver([]uint64{6, 7}, rs[:2]...)), 2, 0, 0, 0)
	if _, err := s.Reject(t.Context(), handedOver([]uint64{8}, rs[2]), 8, errors.New("because")); !errors.As(err, &beyond) {
		t.Errorf("reject beyond: %v", err)
	}
}

func TestOrder_BeyondTheLastSequenceOfAFinishedLoadIsSuperseded(t *testing.T) {
	t.Parallel()
	s := rebuilding(t)
	rs := reservations(4)
	order(t, s, handedOver([]uint64{3}, rs[0]))
	must(t, s.SetLastSequence(t.Context(), "phone", 2, 7))
	_, err := s.FinishLoad(t.Context(), "phone", 2)
	must(t, err)
	// The sweeper brought the first one again; 2 is of a hand-over of 7 that comes again too.
	b := handedOver([]uint64{9, 8, 9}, rs[0], rs[1], rs[2])
	for range 2 {
		result := order(t, s, b)
		if v := verdictOf(t, result, rs[0].RID); v.State != sale.OrderPending || v.Fate != FateKnown {
			t.Errorf("the known one is %+v", v)
		}
		for _, r := range rs[1:3] {
			if v := verdictOf(t, result, r.RID); v.State != sale.OrderRejected || v.Reason != sale.ReasonSuperseded {
				t.Errorf("the late one is %+v", v)
			}
		}
	}
	v, err := s.Reject(t.Context(), handedOver([]uint64{11}, rs[3]), 11, errors.New("because"))
	must(t, err)
	if v.Reason != sale.ReasonSuperseded || v.Fate != FateSuperseded {
		t.Errorf("a bad late one is %+v", v)
	}
	wantHeld(t, s, "phone", 1)
	if got := unapplied(t, s, 10); len(got) != 0 {
		t.Errorf("releases to apply to tickets that are not there: %v", got)
	}
}

func TestOrder_OfOneRIDTheEarlierHandOverCounts(t *testing.T) {
	t.Parallel()
	s := rebuilding(t)
	must(t, s.SetLastSequence(t.Context(), "phone", 2, 7))
	_, err := s.FinishLoad(t.Context(), "phone", 2)
	must(t, err)
	r := reservations(1)[0]
	wantCounts(t, order(t, s, handedOver([]uint64{9, 7}, r, r)), 1, 0, 0, 0)
}

func TestOrder_OlderEpochThatNoLoadReplacedIsRefused(t *testing.T) {
	t.Parallel()
	s := rebuilding(t)
	_, err := s.FinishLoad(t.Context(), "phone", 2)
	must(t, err)
	if _, err := s.Order(t.Context(), handedOver([]uint64{5}, reservations(1)...)); !errors.Is(err, ErrStaleEpoch) {
		t.Errorf("error %v, want %v", err, ErrStaleEpoch)
	}
}

func TestBeginLoad_ForgetsTheBorderOfALoadThatNeverWentLive(t *testing.T) {
	t.Parallel()
	s := rebuilding(t)
	_, err := s.BeginLoad(t.Context(), "phone", 0)
	must(t, err)
	must(t, s.SetLastSequence(t.Context(), "phone", 2, 7))
	_, err = s.BeginLoad(t.Context(), "phone", 0)
	must(t, err)
	if err := s.SetLastSequence(t.Context(), "phone", 2, 9); !errors.Is(err, ErrStaleEpoch) {
		t.Errorf("the load that lost notes a sequence: %v", err)
	}
	rs := reservations(2)
	wantCounts(t, order(t, s, handedOver([]uint64{8}, rs[0])), 1, 0, 0, 0)
	must(t, s.SetLastSequence(t.Context(), "phone", 3, 9))
	wantCounts(t, order(t, s, handedOver([]uint64{9}, rs[1])), 1, 0, 0, 0)
}

func TestRequestRebuild_OnceAndOnlyOfTheEpochSeen(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	for _, step := range []struct {
		at, above int64
		requested bool
		epoch     int64
	}{
		{2, 0, false, 1},
		{1, 5, true, 6},
		{1, 0, false, 6}, // another worker saw the same
		{0, 9, false, 6}, // an operator, while it is under way
	} {
		entry, requested, err := s.RequestRebuild(t.Context(), "phone", step.at, step.above)
		must(t, err)
		if requested != step.requested || entry.Epoch != step.epoch || entry.Rebuilding != (step.epoch > 1) {
			t.Errorf("%+v: requested %t, %+v", step, requested, entry)
		}
	}
	if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{config("new", 1)}}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]error{"new": ErrNotLoaded, "nothing": ErrNoSale} {
		if _, _, err := s.RequestRebuild(t.Context(), id, 0, 0); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
}

func TestCount_EveryDecidedReservationHasATicketAndUnitsAddUp(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 600)
	rs := reservations(600)
	for page := range 3 {
		order(t, s, batchOf("phone", rs[page*200:page*200+200]...))
	}
	again := rs[5]
	again.RID, again.Rank = newRID(), 601
	order(t, s, batchOf("phone", again)) // a duplicate
	_, cancelled, _, err := s.Cancel(t.Context(), rs[0].UserID, rs[0].RID)
	must(t, err)
	if !cancelled {
		t.Fatal("not cancelled")
	}
	exec(t, s, refuseAll) // so that it is rejected without a row
	bad := reservation(badUser, 1, 602)
	_, err = s.Reject(t.Context(), batchOf("phone", bad), 9, errors.New("because"))
	must(t, err)
	_, err = s.BeginLoad(t.Context(), "phone", 0)
	must(t, err)

	var live sale.Live
	tickets := map[string]sale.LoadTicket{}
	var ranks []int64
	must(t, s.Count(t.Context(), "phone", 2, sale.LoadParts{
		Live:  func(l sale.Live) error { live = l; return nil },
		Allow: func([]string) error { return errors.New("has no allow list") },
		Tickets: func(page []sale.LoadTicket) error {
			for _, ticket := range page {
				tickets[ticket.RID] = ticket
				ranks = append(ranks, ticket.Rank)
			}
			return nil
		},
	}))

	if live.Total != 600 || live.Stock != 1 || live.Accepted-live.Given != 599 || live.Given != 2 ||
		live.Rank != 601 || live.Served != 601 || live.Unpaid != 599 || live.Entry.Epoch != 2 {
		t.Errorf("live %+v", live)
	}
	for rid, want := range map[string]sale.LoadTicket{
		rs[0].RID:   {Ticket: sale.Ticket{Status: sale.StatusCancelled}},
		rs[1].RID:   {Ticket: sale.Ticket{Status: sale.StatusConfirmed}, HoldsSlot: true},
		again.RID:   {Ticket: sale.Ticket{Status: sale.StatusRejected, Reason: sale.ReasonDuplicate}},
		bad.RID:     {Ticket: sale.Ticket{Status: sale.StatusRejected, Reason: sale.ReasonInvalid}},
		rs[599].RID: {Ticket: sale.Ticket{Status: sale.StatusConfirmed}, HoldsSlot: true},
	} {
		got, ok := tickets[rid]
		if !ok || got.Status != want.Status || got.Reason != want.Reason || got.HoldsSlot != want.HoldsSlot {
			t.Errorf("ticket %+v, want %+v", got, want)
		}
		if (got.Status == sale.StatusConfirmed) == got.PayBy.IsZero() || got.UpdatedAt.IsZero() || got.AcceptedAt.IsZero() {
			t.Errorf("times of %+v", got)
		}
	}
	if len(tickets) != 602 || tickets[bad.RID].UserID != bad.UserID {
		t.Errorf("%d tickets, the rejected one %+v", len(tickets), tickets[bad.RID])
	}
	for i := 2; i < len(ranks); i++ {
		if ranks[i] < ranks[i-1] {
			t.Fatalf("rank %d after %d", ranks[i], ranks[i-1])
		}
	}
	if err := s.Count(t.Context(), "phone", 1, sale.LoadParts{}); !errors.Is(err, ErrStaleEpoch) {
		t.Errorf("count of an epoch that is not under load: %v", err)
	}
}

func TestBeginLoad_EveryRunHasAnEpochOfItsOwn(t *testing.T) {
	t.Parallel()
	s := rebuilding(t) // epoch 2 is requested
	for i, step := range []struct{ above, want int64 }{{1, 2}, {1, 3}, {0, 4}} {
		entry, err := s.BeginLoad(t.Context(), "phone", step.above)
		must(t, err)
		if entry.Epoch != step.want {
			t.Errorf("run %d is at epoch %d, want %d", i, entry.Epoch, step.want)
		}
	}
	_, err := s.FinishLoad(t.Context(), "phone", 4)
	must(t, err)
	_, _, err = s.RequestRebuild(t.Context(), "phone", 0, 0)
	must(t, err)
	if entry, err := s.BeginLoad(t.Context(), "phone", 7); err != nil || entry.Epoch != 8 {
		t.Errorf("a requested epoch below a survivor: %+v, %v", entry, err)
	}
}

// A late payment takes its unit again under the same rid, while the hand-over of the first
// time is on its way: what is superseded then has a ticket all the same.
func TestOrder_WhatWasSupersededAndComesAtTheCurrentEpochIsReleasedOnce(t *testing.T) {
	t.Parallel()
	s := rebuilding(t)
	r := reservations(1)[0]
	must(t, s.SetLastSequence(t.Context(), "phone", 2, 7))
	_, err := s.FinishLoad(t.Context(), "phone", 2)
	must(t, err)
	order(t, s, handedOver([]uint64{8}, r))
	pending, err := s.UnappliedReleases(t.Context(), 10, nil)
	must(t, err)
	if len(pending) != 0 {
		t.Fatalf("releases %+v of a ticket that is not there", pending)
	}
	current := batchOf("phone", r)
	current.Epoch = 2
	for range 2 {
		wantCounts(t, order(t, s, current), 0, 1, 0, 0)
		pending, err = s.UnappliedReleases(t.Context(), 10, nil)
		must(t, err)
		if len(pending) != 1 || pending[0].RID != r.RID || pending[0].Give != 1 || pending[0].Slot != sale.SlotOpens {
			t.Fatalf("releases %+v", pending)
		}
	}
	_, err = s.MarkApplied(t.Context(), []string{r.RID})
	must(t, err)
	order(t, s, current)
	if pending, err = s.UnappliedReleases(t.Context(), 10, nil); err != nil || len(pending) != 0 {
		t.Errorf("releases %+v, %v, once it is applied", pending, err)
	}
	wantHeld(t, s, "phone", 0)
}
