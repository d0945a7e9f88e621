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

// pacer says what the worker that answers allows itself.
type pacer interface {
	Pace() Pace
}

// Pace is how fast one worker makes orders, and what keeps it from being faster.
type Pace struct {
	Paused          bool
	OrdersPerSecond float64
	P90, Target     time.Duration // of the time that a commit takes
	LimitedBy       string
	Consumers       int // order transactions that may be in flight now
	ConsumersMax    int
	InFlight        int // order transactions that are
	WorkersWanted   int
}

type backlogBody struct {
	Promise float64           `json:"promise_seconds"`
	Sales   []saleBacklogBody `json:"sales"`
	Pace    *paceBody         `json:"pace,omitempty"`
}

type saleBacklogBody struct {
	Sale      string     `json:"sale"`
	Title     string     `json:"title"`
	Waiting   int64      `json:"waiting"`
	Oldest    *time.Time `json:"oldest"` // null when nothing waits, or it is not known yet
	Age       float64    `json:"age_seconds"`
	Within    bool       `json:"within_promise"`
	DrainRate *float64   `json:"drain_rate"`    // null until it is measured
	Drain     *float64   `json:"drain_seconds"` // null when something waits and nothing is served
	ReadAt    time.Time  `json:"read_at"`
}

type paceBody struct {
	Paused          bool    `json:"paused"`
	OrdersPerSecond float64 `json:"orders_per_second"`
	P90             float64 `json:"p90_ms"`
	Target          float64 `json:"target_ms"`
	LimitedBy       string  `json:"limited_by"`
	Consumers       int     `json:"consumers"`
	ConsumersMax    int     `json:"consumers_max"`
	InFlight        int     `json:"in_flight"`
	WorkersWanted   int     `json:"workers_wanted"`
}

// showBacklog is GET /admin/v1/backlog.
func (a *API) showBacklog(_ context.Context, c call) {
	if _, bad := c.query(); bad != nil {
		bad.write(c.w)
		return
	}
	now := time.Now()
	body := backlogBody{
		Promise: c.Promise.Seconds(),
		Sales:   each(c.Backlog.All(), func(s backlog.Sale) saleBacklogBody { return saleBacklogOf(s, c.Promise, now) }),
	}
	if c.Pace != nil {
		body.Pace = paceOf(c.Pace.Pace())
	}
	c.answer(http.StatusOK, body)
}

func saleBacklogOf(s backlog.Sale, promise time.Duration, now time.Time) saleBacklogBody {
	age := s.Age(now)
	body := saleBacklogBody{
		Sale: s.SaleID, Title: s.Title, Waiting: s.Waiting, Age: age.Seconds(), Within: age <= promise, ReadAt: s.ReadAt.UTC(),
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

func paceOf(p Pace) *paceBody {
	millis := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return &paceBody{
		Paused: p.Paused, OrdersPerSecond: p.OrdersPerSecond, P90: millis(p.P90), Target: millis(p.Target), LimitedBy: p.LimitedBy,
		Consumers: p.Consumers, ConsumersMax: p.ConsumersMax, InFlight: p.InFlight, WorkersWanted: p.WorkersWanted,
	}
}
