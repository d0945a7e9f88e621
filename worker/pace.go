package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/backlog"
	"sluice/shared/service"
	"sluice/worker/internal/pacing"
)

const (
	followEvery = time.Second
	firstRead   = 100 * time.Millisecond // between tries to read the row at all
)

func newPacer(c config, waiting *backlog.Watch, registry prometheus.Registerer) *pacing.Pacer {
	p := pacing.New(c.pace, c.promise, waiting.Waiting)
	p.SetPaused(true) // until followPause knows
	registry.MustRegister(p.Collector())
	return p
}

// paceRow says whether operators have stopped the writing of orders.
type paceRow interface {
	PacePaused(ctx context.Context) (bool, error)
}

// pauses is followPause as a loop.
func (p parts) pauses(pacer *pacing.Pacer) func(context.Context) {
	return func(ctx context.Context) { followPause(ctx, p.operators, pacer, p.log) }
}

// followPause keeps the pacer as the row says; as it was while the row cannot be read. The
// pacer is paused until it was read once: a worker that starts during a pause writes nothing.
func followPause(ctx context.Context, row paceRow, p *pacing.Pacer, log *slog.Logger) {
	var faults service.Quiet
	wait := firstRead
	for paused := true; ; {
		switch now, err := row.PacePaused(ctx); {
		case err != nil && ctx.Err() == nil && faults.Allow():
			log.Warn("pause of the pace not read", "paused", paused, "error", err)
		case err == nil:
			if now != paused && wait == followEvery || now && wait == firstRead {
				log.Info("pace heeded", "paused", now)
			}
			paused, wait = now, followEvery
			p.SetPaused(paused)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}
