package main

import (
	"log/slog"

	"sluice/shared/backlog"
	"sluice/shared/service"
	"sluice/worker/internal/console"
)

// openConsole serves the on-call page beside the admin API.
func openConsole(ops *service.Ops, c config, log *slog.Logger) (*console.Console, error) {
	page, err := console.New(c.adminToken, nil, log)
	if err != nil {
		return nil, err
	}
	ops.Handle("/console", page)
	ops.Handle("/console/", page)
	return page, nil
}

// shownOnCall is what the console reads. It has the operators' connections to Postgres.
func shownOnCall(c config, p parts, waiting *backlog.Watch) console.Sources {
	return console.Sources{
		Sales: p.operators, Redis: p.stock, Promise: c.promise,
		Backlog: func() []console.Backlog { return converted(waiting.All(), backlogShown) },
	}
}

func backlogShown(s backlog.Sale) console.Backlog {
	b := console.Backlog{SaleID: s.SaleID, Waiting: s.Waiting, Oldest: s.Oldest, DrainRate: s.DrainRate, Known: !s.ReadAt.IsZero()}
	if !s.Measured {
		b.DrainRate = -1
	}
	return b
}
