package alerts

import (
	"context"
	"fmt"
)

// Sources are what is looked at. What cannot be read now is unknown; a nil function's
// alerts are never evaluated.
type Sources struct {
	Backlog    func() []Backlog                     // of every sale; kept while it cannot be read
	Live       func() []Standing                    // of every sale that Redis was asked for
	Slow       func() bool                          // the pace is held by Postgres alone
	StreamUsed func() (u Used, known bool)          // of the nearest cap
	Up         func() map[string]bool               // stores that were asked, and whether they answer
	Facts      func(context.Context) (Facts, error) // what Postgres says
}

// look asks every source. Postgres is asked every few seconds, and not while it is away.
func (a *Alerts) look(ctx context.Context, postgres bool) verdict {
	var s seen
	var grows map[string]bool
	if a.sources.Backlog != nil {
		s.backlog = append([]Backlog{}, a.sources.Backlog()...)
		grows = a.trend.note(s.backlog, a.now())
	}
	if a.sources.Live != nil {
		s.live = append([]Standing{}, a.sources.Live()...)
	}
	if a.sources.Slow != nil {
		slow := a.sources.Slow()
		s.slow = &slow
	}
	if a.sources.StreamUsed != nil {
		if used, known := a.sources.StreamUsed(); known {
			s.streamUsed = &used
		}
	}
	if a.sources.Up != nil {
		s.up = a.sources.Up()
	}
	if postgres && a.sources.Facts != nil {
		s.facts = a.readFacts(ctx)
	}
	return a.cfg.judge(s, grows)
}

func (a *Alerts) readFacts(ctx context.Context) *Facts {
	now := a.now()
	if now.Sub(a.factsAt) < factsEvery {
		return a.facts
	}
	ctx, cancel := context.WithTimeout(ctx, rowsWithin)
	defer cancel()
	a.facts, a.factsAt = nil, now
	facts, err := a.sources.Facts(ctx)
	if err != nil {
		if ctx.Err() == nil && a.faults.Allow() {
			a.log.Warn("alerts incomplete", "error", fmt.Errorf("cannot read what postgres says: %w", err))
		}
		return nil
	}
	a.facts = &facts
	return a.facts
}
