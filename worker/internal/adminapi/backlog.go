package adminapi

import (
	"context"
	"net/http"
	"time"

	"sluice/shared/backlog"
)

// backlogs are what waits of every sale, from memory: they are told whatever store is away.
type backlogs interface {
	All() []backlog.Sale
}

type backlogBody struct {
	Promise float64           `json:"promise_seconds"`
	Sales   []saleBacklogBody `json:"sales"`
	Pace    paceBody          `json:"pace"` // of the worker that answers
}

type saleBacklogBody struct {
	Sale      string     `json:"sale"`
	Title     string     `json:"title"`
	Waiting   int64      `json:"waiting"`
	Oldest    *time.Time `json:"oldest"`         // null when nothing waits, or it is not known yet
	Age       *float64   `json:"age_seconds"`    // of the oldest, 0 when nothing waits; null when it is not known
	Within    *bool      `json:"within_promise"` // null when the age is not known, and while a sale that cannot be read is not late yet
	DrainRate *float64   `json:"drain_rate"`     // null until it is measured, and while it cannot be
	Drain     *float64   `json:"drain_seconds"`  // null when something waits and nothing is served, or it is not known
	Stale     bool       `json:"stale"`          // it cannot be read: the rest is of read_at
	ReadAt    time.Time  `json:"read_at"`
}

// showBacklog is GET /admin/v1/backlog.
func (a *API) showBacklog(_ context.Context, c call) {
	if _, bad := c.query(); bad != nil {
		bad.write(c.w)
		return
	}
	now := time.Now()
	c.answer(http.StatusOK, backlogBody{
		Promise: c.Promise.Seconds(),
		Sales:   each(c.Backlog.All(), func(s backlog.Sale) saleBacklogBody { return saleBacklogOf(s, c.Promise, now) }),
		Pace:    paceOf(c.Pacer.State()),
	})
}

func saleBacklogOf(s backlog.Sale, promise time.Duration, now time.Time) saleBacklogBody {
	body := saleBacklogBody{Sale: s.SaleID, Title: s.Title, Waiting: s.Waiting, Stale: s.Stale, ReadAt: s.ReadAt.UTC()}
	if s.AgeKnown() {
		age := s.Age(now)
		seconds, within := age.Seconds(), age <= promise
		body.Age = &seconds
		if !within || !s.Stale {
			body.Within = &within
		}
	}
	if !s.Oldest.IsZero() {
		oldest := s.Oldest.UTC()
		body.Oldest = &oldest
	}
	if s.Measured {
		body.DrainRate = &s.DrainRate
	}
	if left, known := s.TimeToDrain(); known {
		seconds := left.Seconds()
		body.Drain = &seconds
	}
	return body
}
