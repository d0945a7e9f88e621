package pgstore

import (
	"errors"
	"slices"
	"testing"
	"time"

	"sluice/shared/sale"
)

func TestSetPaused_IsOneRevAndOneRecordAChange(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	var revs []int64
	for _, paused := range []bool{true, true, false} {
		e, err := s.SetPaused(t.Context(), ada, "phone", paused)
		if err != nil || e.Paused != paused {
			t.Fatalf("%+v, %v", e, err)
		}
		revs = append(revs, e.Rev)
	}
	if revs[1] != revs[0] || revs[2] != revs[0]+1 {
		t.Errorf("revs %v", revs)
	}
	if got := actions(t, s); !slices.Equal(got, []sale.Action{sale.ActionResume, sale.ActionPause}) {
		t.Errorf("audit log %v", got)
	}
	changes, err := s.AuditLog(t.Context(), "", sale.Page{Limit: 1})
	if err != nil || len(changes) != 1 || string(changes[0].Before) != `{"paused": true}` || string(changes[0].After) != `{"paused": false}` {
		t.Errorf("%+v, %v", changes, err)
	}
	older, err := s.AuditLog(t.Context(), "phone", sale.Page{Limit: 9, Before: changes[0].ID})
	if err != nil || len(older) != 1 || older[0].Action != sale.ActionPause {
		t.Errorf("%+v, %v", older, err)
	}
}

func TestCloseSale_EndsTheWindowOnceAndTheSalesFileStillApplies(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for id, opens := range map[string]time.Duration{"open": -time.Hour, "scheduled": time.Hour, "over": -3 * time.Hour} {
		c := config(id, 10)
		c.OpensAt = time.Now().Add(opens)
		c.ClosesAt = c.OpensAt.Add(2 * time.Hour)
		if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{c}}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.BeginLoad(t.Context(), id, 0); err != nil {
			t.Fatal(err)
		}
		first, err := s.CloseSale(t.Context(), ada, id)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.CloseSale(t.Context(), ada, id)
		if err != nil || !again.ClosesAt.Equal(first.ClosesAt) || again.Rev != first.Rev {
			t.Errorf("%s: closed %+v, then %+v, %v", id, first, again, err)
		}
		if phase := sale.PhaseAt(first.OpensAt, first.ClosesAt, first.ClosesAt); phase != sale.Closed || !first.ClosesAt.After(first.OpensAt) {
			t.Errorf("%s: window %v to %v", id, first.OpensAt, first.ClosesAt)
		}
		if at := first.ClosesAt; id != "over" && !at.Equal(at.Truncate(time.Millisecond)) {
			t.Errorf("%s: closes at %v, which Redis would round", id, at)
		}
		if early := first.ClosesAt.Before(c.ClosesAt.Add(-time.Minute)); early != (id != "over") {
			t.Errorf("%s: closes at %v", id, first.ClosesAt)
		}
		if applied, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{c}}); err != nil || applied.Sales[0].Change != Unchanged {
			t.Errorf("%s: applied again: %+v, %v", id, applied, err)
		}
		log, err := s.AuditLog(t.Context(), id, sale.Page{Limit: 9})
		if err != nil || (len(log) == 1) != (id != "over") {
			t.Errorf("%s: audit log %+v, %v", id, log, err)
		}
	}
}

func TestRebuildSale_MakesOneEpoch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	for range 2 {
		e, err := s.RebuildSale(t.Context(), ada, "phone", 0)
		if err != nil || e.Epoch != 2 || !e.Rebuilding {
			t.Errorf("%+v, %v", e, err)
		}
	}
	if _, err := s.Apply(t.Context(), Catalogue{Sales: []SaleConfig{config("cold", 10)}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RebuildSale(t.Context(), ada, "cold", 0); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("never loaded: %v", err)
	}
	exec(t, s, `UPDATE sales SET retired = true`)
	for name, change := range map[string]func() (sale.Entry, error){
		"rebuild": func() (sale.Entry, error) { return s.RebuildSale(t.Context(), ada, "phone", 0) },
		"pause":   func() (sale.Entry, error) { return s.SetPaused(t.Context(), ada, "phone", true) },
		"close":   func() (sale.Entry, error) { return s.CloseSale(t.Context(), ada, "phone") },
	} {
		if _, err := change(); !errors.Is(err, ErrRetired) {
			t.Errorf("%s of a retired sale: %v", name, err)
		}
	}
	if _, err := s.CloseSale(t.Context(), ada, "nothing"); !errors.Is(err, ErrNoSale) {
		t.Errorf("unknown: %v", err)
	}
}

func TestSettleLetter_HasOneOutcome(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	loaded(t, s, "phone", 10)
	for seq := range uint64(3) {
		if _, err := s.Bury(t.Context(), Unreadable{SaleID: "phone", Epoch: 1, Sequence: seq + 1, Body: make([]byte, 1000), Cause: errors.New("x")}); err != nil {
			t.Fatal(err)
		}
	}
	letters, err := s.DeadLetters(t.Context(), "phone", sale.LetterOpen, sale.Page{Limit: 2}, 4)
	if err != nil || len(letters) != 2 || letters[0].Sequence != 3 || len(letters[0].Payload) != 4 || letters[0].Size != 1000 {
		t.Fatalf("%+v, %v", letters, err)
	}
	older, err := s.DeadLetters(t.Context(), "", "", sale.Page{Limit: 2, Before: letters[1].ID}, 4)
	if err != nil || len(older) != 1 || older[0].Sequence != 1 {
		t.Errorf("%+v, %v", older, err)
	}
	id := letters[0].ID
	for range 2 {
		if l, err := s.SettleLetter(t.Context(), ada, id, sale.LetterDropped); err != nil || l.State != sale.LetterDropped {
			t.Errorf("%+v, %v", l, err)
		}
	}
	if l, err := s.SettleLetter(t.Context(), ada, id, sale.LetterRetried); !errors.Is(err, ErrLetterSettled) || l.State != sale.LetterDropped {
		t.Errorf("retry of a dropped one: %+v, %v", l, err)
	}
	if _, err := s.SettleLetter(t.Context(), ada, 0, sale.LetterRetried); !errors.Is(err, ErrNoLetter) {
		t.Errorf("unknown: %v", err)
	}
	if l, err := s.DeadLetter(t.Context(), id); err != nil || l.State != sale.LetterDropped || l.RID != "" || len(l.Payload) != 1000 {
		t.Errorf("%+v, %v", l, err)
	}
	if got := actions(t, s); !slices.Equal(got, []sale.Action{sale.ActionLetterDropped}) {
		t.Errorf("audit log %v", got)
	}
}
