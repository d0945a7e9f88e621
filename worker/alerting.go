package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/shared/backlog"
	"sluice/shared/pgstore"
	"sluice/shared/service"
	"sluice/worker/internal/alerts"
	"sluice/worker/internal/lifecycle"
	"sluice/worker/internal/pacing"
	"sluice/worker/internal/reconcile"
)

func alertFlags(fs *flag.FlagSet, c *alerts.Config) {
	fs.StringVar(&c.Webhook, "alert-webhook", "", "`url` that alerts are sent to, as Alertmanager's webhooks (version 4), the same on every worker: one of them tells for all. Without it they are logged, measured and listed only")
	fs.DurationVar(&c.BacklogFor, "alert-backlog-for", 5*time.Second, "for which reservations must have waited longer than is promised before somebody is told")
	fs.DurationVar(&c.DependencyFor, "alert-dependency-for", 10*time.Second, "for which a store must not have answered before somebody is told")
	fs.DurationVar(&c.NotLiveFor, "alert-not-live-for", 30*time.Second, "for which a sale whose window is open must not have been live in Redis before somebody is told; longer than a rebuild takes")
	fs.StringVar(&c.Runbook, "runbook-url", "docs/runbook.md", "`url` of the runbook, which alerts point to")
	c.Kinds = alerts.Kinds{
		Surplus: reconcile.SurplusNew, SoldOut: reconcile.SoldOutFlag, Others: []string{reconcile.DeadLetterOpen, reconcile.RefundOwed},
	}
}

// openWatch opens the connections of alerts: one is the session of the worker that
// evaluates, the other reads.
func openWatch(ctx context.Context, c config, primary *pgstore.Primary) (*pgstore.Store, error) {
	const conns = 2
	return pgstore.Open(ctx, pgstore.Config{URL: c.postgresURL, MaxConns: conns, StatementTimeout: c.statement, Checked: true, Primary: primary})
}

func newAlerts(c config, p parts, waiting *backlog.Watch, pacer *pacing.Pacer, measures *lifecycle.Metrics, dependencies *service.Dependencies, registry prometheus.Registerer) *alerts.Alerts {
	c.alerts.Promise = c.promise
	sources := alerts.Sources{
		Backlog: func() []alerts.Backlog { return backlogOf(waiting, time.Now()) },
		Live: func() []alerts.Standing {
			return converted(waiting.Standings(), func(s backlog.Standing) alerts.Standing { return alerts.Standing(s) })
		},
		Slow: func() bool { return pacer.State().LimitedBy == pacing.LimitLatency },
		Up:   dependencies.Up, Facts: facts{p.heal.watch}.read,
		StreamUsed: func() (alerts.Used, bool) {
			used, known := measures.StreamUsed()
			return alerts.Used(used), known
		},
	}
	return alerts.New(c.alerts, sources, alertRows{p.heal.watch}, pgstore.ErrLocked, alerts.NewMetrics(registry), time.Now, p.log)
}

func backlogOf(waiting *backlog.Watch, now time.Time) []alerts.Backlog {
	return converted(waiting.All(), func(s backlog.Sale) alerts.Backlog {
		return alerts.Backlog{SaleID: s.SaleID, Waiting: s.Waiting, Age: s.Age(now), Rate: s.DrainRate, Measured: s.Measured}
	})
}

// alertRows fits the alerts in Postgres to what evaluates them.
type alertRows struct{ *pgstore.Store }

func (r alertRows) Keep(ctx context.Context) (alerts.Keeper, error) {
	keeper, err := r.KeepAlerts(ctx)
	if err != nil {
		return nil, err
	}
	return alertKeeper{keeper}, nil
}

func (r alertRows) SaveAlerts(ctx context.Context, c alerts.Changes) error {
	return r.Store.SaveAlerts(ctx, c.Kept, c.Gone)
}

type alertKeeper struct{ *pgstore.AlertKeeper }

func (k alertKeeper) SaveAlerts(ctx context.Context, c alerts.Changes) error {
	return k.AlertKeeper.SaveAlerts(ctx, c.Kept, c.Gone)
}

// surplusFor is for how long surplus counts: a reconciliation tells it once.
const surplusFor = 5 * time.Minute

// facts are what Postgres says that somebody has to know.
type facts struct{ *pgstore.Store }

func (f facts) read(ctx context.Context) (alerts.Facts, error) {
	work, err := f.OpenWork(ctx)
	found, other := f.Deviations(ctx, reconcile.SurplusNew, surplusFor)
	sales, third := f.Unretired(ctx)
	pause, fourth := f.PacePause(ctx)
	return alerts.Facts{
		DeadLetters: work.DeadLetters, RefundsOwed: work.RefundsOwed, WrongAmounts: work.WrongAmounts, Sales: sales, Pause: pause,
		Deviations: converted(found, func(d pgstore.Deviation) alerts.Deviation { return alerts.Deviation(d) }),
	}, errors.Join(err, other, third, fourth)
}
