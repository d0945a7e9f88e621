package main

import (
	"context"
	"log/slog"

	"sluice/docs"
	"sluice/shared/backlog"
	"sluice/shared/sale"
	"sluice/shared/service"
	"sluice/worker/internal/alerts"
	"sluice/worker/internal/console"
	"sluice/worker/internal/pacing"
)

// openConsole serves the on-call page beside the admin API.
func openConsole(ops *service.Ops, c config, log *slog.Logger) (*console.Console, error) {
	page, err := console.New(c.adminToken, docs.Runbook, log)
	if err != nil {
		return nil, err
	}
	ops.Handle("/console", page)
	ops.Handle("/console/", page)
	return page, nil
}

// shownOnCall has the console show what there is. It has the operators' connections to
// Postgres.
func shownOnCall(page *console.Console, c config, p parts, waiting *backlog.Watch, pacer *pacing.Pacer, watch *alerts.Alerts) func(context.Context) {
	sources := console.Sources{
		Sales: p.operators, Redis: p.stock, Promise: c.promise,
		Backlog: func() []console.Backlog { return converted(waiting.All(), backlogShown) },
		Pace:    func() console.Pace { return paceShown(pacer.State()) },
		Alerts:  func() []console.Alert { return converted(watch.List(), alertShown) },
	}
	return func(ctx context.Context) { page.Run(ctx, sources) }
}

func backlogShown(s backlog.Sale) console.Backlog {
	b := console.Backlog{SaleID: s.SaleID, Waiting: s.Waiting, Oldest: s.Oldest, Stale: s.Stale, DrainRate: s.DrainRate, Known: !s.ReadAt.IsZero()}
	if !s.Measured {
		b.DrainRate = -1
	}
	return b
}

func paceShown(s pacing.State) console.Pace {
	return console.Pace{
		Paused: s.Paused, Orders: s.Pace, P90: s.P90, Target: s.Target, LimitedBy: string(s.LimitedBy),
		Consumers: s.Consumers, ConsumersMax: s.ConsumersMax, InFlight: s.InFlight, WorkersWanted: s.WorkersWanted,
	}
}

func alertShown(a sale.Alert) console.Alert {
	shown := console.Alert{
		Name: string(a.Name), State: string(a.State), Severity: a.Name.Severity(), Sale: a.SaleID, Dependency: a.Dependency,
		Summary: a.Summary, Since: a.Since,
	}
	if a.State == sale.AlertResolved {
		shown.ResolvedAt = a.ResolvedAt
	}
	return shown
}
