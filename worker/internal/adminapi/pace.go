package adminapi

import (
	"context"
	"math"
	"net/http"
	"time"

	"sluice/shared/sale"
	"sluice/worker/internal/pacing"
)

// paceRow stops the writing of orders by all workers, of all sales.
type paceRow interface {
	PacePaused(ctx context.Context) (bool, error)
	PacePause(ctx context.Context) (sale.PacePause, error)
	SetPacePaused(ctx context.Context, by sale.Actor, paused bool) error
}

// pacer is that of the worker that answers.
type pacer interface{ State() pacing.State }

// paceBody is how fast the worker that answers makes orders, and why not faster.
type paceBody struct {
	Paused          bool         `json:"paused"`
	OrdersPerSecond float64      `json:"orders_per_second"`
	P90             float64      `json:"p90_ms"`
	Target          float64      `json:"target_ms"`
	LimitedBy       pacing.Limit `json:"limited_by"`
	Consumers       int          `json:"consumers"`
	ConsumersMax    int          `json:"consumers_max"`
	InFlight        int          `json:"in_flight"`
	WorkersWanted   int          `json:"workers_wanted"`
}

// orderedPaceBody is the same beside what operators want of all workers.
type orderedPaceBody struct {
	paceBody      // Paused as Postgres says
	Applied  bool `json:"applied"` // the worker that answers has heard of it
}

func (a *API) onePace(ctx context.Context, c call) {
	if _, bad := c.query(); bad != nil {
		bad.write(c.w)
		return
	}
	a.answerPace(ctx, c)
}

func (a *API) pausePace(ctx context.Context, c call) { a.setPace(ctx, c, true) }

func (a *API) resumePace(ctx context.Context, c call) { a.setPace(ctx, c, false) }

func (a *API) setPace(ctx context.Context, c call, paused bool) {
	if bad := c.emptyBody(); bad != nil {
		bad.write(c.w)
		return
	}
	if err := c.Pace.SetPacePaused(ctx, c.by, paused); err != nil {
		a.fail(c, err)
		return
	}
	a.log.Info("pace changed by an operator", "paused", paused, "operator", c.by.Operator)
	a.answerPace(ctx, c)
}

func (a *API) answerPace(ctx context.Context, c call) {
	paused, err := c.Pace.PacePaused(ctx)
	if err != nil {
		a.fail(c, err)
		return
	}
	s := c.Pacer.State()
	body := orderedPaceBody{paceBody: paceOf(s), Applied: s.Paused == paused}
	body.Paused = paused
	c.answer(http.StatusOK, body)
}

func paceOf(s pacing.State) paceBody {
	return paceBody{
		Paused: s.Paused, OrdersPerSecond: math.Round(s.Pace), P90: milliseconds(s.P90), Target: milliseconds(s.Target),
		LimitedBy: s.LimitedBy, Consumers: s.Consumers, ConsumersMax: s.ConsumersMax, InFlight: s.InFlight, WorkersWanted: s.WorkersWanted,
	}
}

// milliseconds are to a tenth.
func milliseconds(d time.Duration) float64 { return math.Round(d.Seconds()*10_000) / 10 }
