package load

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"sluice/shared/sale"
)

// stores are the three of them for one sale, as far as a load sees them.
type stores struct {
	entry     sale.Entry // in Postgres
	announced sale.Entry // in the catalogue
	live      int64      // epoch at which Redis answers, 0 when it has lost the sale
	meta      int64      // epoch that meta of Redis knows

	loading int64   // latest epoch that a load has begun with
	begun   []int64 // all of them
	flip    func(epoch int64) error
	pause   sale.PacePause

	queued    []string              // tickets of the epoch before
	decided   map[string]bool       // in Postgres
	stream    []sale.HandOver       // not ordered yet
	handed    int                   // hand-overs ever
	noted     []uint64              // last sequences, in order
	waitedFor func(sequence uint64) // as awaiting its orders begins
}

func (s *stores) Entry(context.Context, string) (sale.Entry, error) { return s.entry, nil }

func (s *stores) BeginLoad(_ context.Context, _ string, above int64) (sale.Entry, error) {
	if !s.entry.Rebuilding || s.loading >= s.entry.Epoch || s.entry.Epoch <= above { // else it was requested
		s.entry.Epoch, s.entry.Rebuilding, s.entry.Rev = max(s.entry.Epoch, above)+1, true, s.entry.Rev+1
	}
	s.loading = s.entry.Epoch
	s.begun = append(s.begun, s.entry.Epoch)
	return s.entry, nil
}

func (s *stores) PacePause(context.Context) (sale.PacePause, error) { return s.pause, nil }

func (s *stores) SetLastSequence(_ context.Context, _ string, _ int64, sequence uint64) error {
	s.noted = append(s.noted, sequence)
	return nil
}

func (s *stores) Count(_ context.Context, _ string, epoch int64, parts sale.LoadParts) error {
	e := s.entry
	e.Epoch = epoch
	return parts.Live(sale.Live{Entry: e})
}

func (s *stores) FinishLoad(context.Context, string, int64) (sale.Entry, error) {
	s.entry.Rebuilding = false
	s.entry.Rev++
	return s.entry, nil
}

func (s *stores) Snapshot(_ context.Context, _ string, epoch int64) (sale.Snapshot, sale.HandOff, error) {
	if s.live == 0 || s.live != epoch {
		return sale.Snapshot{Epoch: s.meta}, sale.HandOff{}, sale.ErrStale
	}
	return sale.Snapshot{Epoch: epoch}, sale.HandOff{}, nil
}

func (s *stores) Fence(_ context.Context, _ string, epoch int64, _ string) error {
	s.live, s.meta = 0, epoch
	return nil
}

func (s *stores) LoadAllow(context.Context, string, int64, string, []string) error { return nil }

func (s *stores) LoadAdjusted(context.Context, string, int64, string, []sale.Adjustment) error {
	return nil
}

func (s *stores) LoadTickets(context.Context, string, int64, string, []sale.LoadTicket) error {
	return nil
}

func (s *stores) Flip(_ context.Context, _ string, l sale.Live) error {
	if s.flip != nil {
		if err := s.flip(l.Entry.Epoch); err != nil {
			return err
		}
	}
	s.live = l.Entry.Epoch
	return nil
}

func (s *stores) DropOlderEpochs(context.Context, string, int64) error { return nil }

func (s *stores) Undecided(_ context.Context, rids []string) ([]string, error) {
	return slices.DeleteFunc(slices.Clone(rids), func(rid string) bool { return s.decided[rid] }), nil
}

func (s *stores) OlderEpochs(_ context.Context, _ string, epoch int64) ([]int64, error) {
	if len(s.queued) == 0 {
		return nil, nil
	}
	return []int64{epoch - 1}, nil
}

func (s *stores) EachTicket(_ context.Context, _ string, _ int64, visit func(sale.Ticket) error) error {
	for _, rid := range s.queued {
		if err := visit(sale.Ticket{Reservation: sale.Reservation{RID: rid}, Status: sale.StatusQueued}); err != nil {
			return err
		}
	}
	return nil
}

func (s *stores) Announced(context.Context, string) (sale.Entry, bool, error) {
	return s.announced, s.announced.Epoch > 0, nil
}

func (s *stores) PutEntry(_ context.Context, e sale.Entry) (bool, error) {
	if !e.NewerThan(s.announced) {
		return false, nil
	}
	s.announced = e
	return true, nil
}

func (s *stores) LastSequence(context.Context, string) (uint64, error) { return uint64(s.handed), nil }

// Acknowledged orders what the stream holds.
func (s *stores) Acknowledged(_ context.Context, _ string, sequence uint64) (bool, error) {
	if s.waitedFor != nil {
		s.waitedFor(sequence)
	}
	for _, h := range s.stream {
		for _, r := range h.Reservations {
			s.decided[r.RID] = true
		}
	}
	s.stream = nil
	return true, nil
}

func (s *stores) Publish(_ context.Context, h sale.HandOver) (uint64, error) {
	s.stream, s.handed = append(s.stream, h), s.handed+1
	return uint64(s.handed), nil
}

func (s *stores) NotifySnapshot(sale.Snapshot) error { return nil }

func (s *stores) run(t *testing.T) Done {
	t.Helper()
	l := Loader{Truth: s, Stock: s, Queue: s, Hit: func(string) error { return nil }, Log: slog.New(slog.DiscardHandler)}
	done, err := l.Run(t.Context(), "phone")
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// The other one has the higher epoch and is as far; to fence it off would cost it its run.
func TestRun_LeavesTheSaleToALaterLoadThatHasFencedIt(t *testing.T) {
	t.Parallel()
	s := &stores{}
	s.flip = func(epoch int64) error {
		s.entry.Epoch++ // another process has begun
		s.meta = s.entry.Epoch
		return fmt.Errorf("flip at epoch %d: %w", epoch, sale.ErrFence)
	}
	done := s.run(t)
	if done.Outcome != Overtaken || len(s.begun) != 1 {
		t.Errorf("%s, epochs %v begun", done.Outcome, s.begun)
	}
}

func TestRun_StartsOverWhenRedisIsLostOnceMore(t *testing.T) {
	t.Parallel()
	s := &stores{}
	s.flip = func(epoch int64) error {
		if epoch > 1 {
			return nil
		}
		return fmt.Errorf("flip at epoch %d: %w", epoch, sale.ErrFence)
	}
	if testing.Short() {
		t.Skip("waits as long as gateways may answer")
	}
	if done := s.run(t); done.Outcome != Live || done.Entry.Epoch != 2 {
		t.Errorf("%s at epoch %d", done.Outcome, done.Entry.Epoch)
	}
}

// A Postgres that was restored old hands out an epoch that the catalogue knows already,
// or finds Redis live at it. Neither may be taken for its own.
func TestRun_NeverTakesAnotherHistorysEpochForItsOwn(t *testing.T) {
	t.Parallel()
	for name, live := range map[string]int64{"lost in redis": 0, "live in redis": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stores{live: live, meta: live}
			s.entry = sale.Entry{Sale: sale.Sale{ID: "phone"}, Epoch: 1, Rev: 3, Rebuilding: true}
			s.announced = sale.Entry{Sale: sale.Sale{ID: "phone"}, Epoch: 1, Rev: 9}
			done := s.run(t)
			if done.Outcome != Live || done.Entry.Epoch <= 1 {
				t.Errorf("%s at epoch %d", done.Outcome, done.Entry.Epoch)
			}
			if s.announced.Epoch != done.Entry.Epoch || s.announced.Rebuilding {
				t.Errorf("gateways are told %+v", s.announced)
			}
		})
	}
}

func TestRun_HandsOverAgainWhatTheStreamLosesWhileItIsWaitedFor(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits as long as gateways may answer")
	}
	s := &stores{live: 1, meta: 1, queued: []string{"a", "b", "c"}, decided: map[string]bool{"a": true}}
	s.entry = sale.Entry{Sale: sale.Sale{ID: "phone"}, Epoch: 2, Rev: 3, Rebuilding: true}
	s.waitedFor = func(sequence uint64) {
		if sequence == 1 {
			s.stream = nil // wiped, once its last sequence is noted
		}
	}
	done := s.run(t)
	if !s.decided["b"] || !s.decided["c"] || done.Saved != 4 || done.Last != 2 {
		t.Errorf("%v decided, %+v", s.decided, done)
	}
	if !slices.Equal(s.noted, []uint64{1, 2}) {
		t.Errorf("%v noted", s.noted)
	}
}
