package alerts

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	evaluateEvery = time.Second
	factsEvery    = 5 * time.Second // between two readings of what costs a query
	valuesEvery   = 5 * time.Second // between two writings of values that move
	rowsWithin    = 2 * time.Second // of one call of Postgres
	aloneAfter    = 3 * time.Second // without Postgres a worker goes on alone
)

// Rows are the alerts in Postgres.
type Rows interface {
	// Keep makes the caller the only worker that evaluates; busy when another one is.
	Keep(ctx context.Context) (Keeper, error)
	Alerts(ctx context.Context) ([]sale.Alert, error)
	SaveAlerts(ctx context.Context, c Changes) error
}

// Keeper is the session of the only worker that evaluates. After an error it is to be
// closed: another worker may have it.
type Keeper interface {
	Alerts(ctx context.Context) ([]sale.Alert, error)
	SaveAlerts(ctx context.Context, c Changes) error
	Close()
}

// Alerts evaluates and tells. Any number of workers may run it.
type Alerts struct {
	cfg     Config
	sources Sources
	rows    Rows
	busy    error // what Keep fails with while another worker has it
	metrics *Metrics
	log     *slog.Logger
	faults  service.Quiet
	tell    *notifier
	now     func() time.Time

	trend     trend
	facts     *Facts
	factsAt   time.Time // when they were last asked for
	keeper    Keeper    // nil while this worker is not the one
	readAt    time.Time // when Postgres last answered
	valuesAt  time.Time // when values were last written
	alone     bool      // the view is this worker's own and has yet to be merged
	delivered []delivery

	mu   sync.Mutex
	view book // guarded by mu for readers: only Run changes it
}

// New builds Alerts. busy is the error of a lock that another process has.
func New(cfg Config, sources Sources, rows Rows, busy error, m *Metrics, now func() time.Time, log *slog.Logger) *Alerts {
	clock := now
	now = func() time.Time { return clock().UTC().Truncate(time.Microsecond) } // as Postgres keeps it
	return &Alerts{cfg: cfg, sources: sources, rows: rows, busy: busy, metrics: m, log: log, now: now,
		tell: newNotifier(cfg, m, log), readAt: now(), view: book{}}
}

// List returns what fires, what may, and what is over since less than an hour, as this
// worker knows it: at most a few seconds old while Postgres answers.
func (a *Alerts) List() []sale.Alert {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.view.list(a.now())
}

// RunbookOf is where the runbook speaks of an alert.
func (a *Alerts) RunbookOf(name sale.AlertName) string { return a.cfg.RunbookOf(name) }

// Run evaluates once a second until ctx ends, then gives the receiver a moment to
// acknowledge what was sent.
func (a *Alerts) Run(ctx context.Context) {
	ticker := time.NewTicker(evaluateEvery)
	defer ticker.Stop()
	for {
		a.round(ctx)
		select {
		case <-ctx.Done():
			a.end()
			return
		case <-ticker.C:
		case d := <-a.tell.done:
			a.acknowledge(d)
		}
	}
}

// end writes down what the receiver acknowledged last: nobody is to tell it again.
func (a *Alerts) end() {
	if d, ok := a.tell.wait(); ok {
		a.acknowledge(d)
	}
	if len(a.delivered) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), rowsWithin)
		defer cancel()
		if _, err := a.follow(ctx); err != nil {
			a.log.Warn("notifications not recorded", "error", err)
		}
	}
	a.resign()
}

// acknowledge keeps what became of a notification until it is in the book.
func (a *Alerts) acknowledge(d delivery) {
	a.tell.over(d, a.now())
	if d.err == nil {
		a.delivered = append(a.delivered, d)
	}
}

// round looks, evaluates and tells, once.
func (a *Alerts) round(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	view, keeps, err := a.consult(ctx)
	now := a.now()
	switch {
	case err == nil:
		a.readAt, a.alone = now, false
	case ctx.Err() != nil:
		return
	case now.Sub(a.readAt) < aloneAfter:
		return
	default:
		if a.faults.Allow() {
			a.log.Warn("alerts go on without postgres", "error", err)
		}
		view, keeps, a.alone = a.told(a.view).evaluated(a.look(ctx, false), a.cfg, now), true, true
		a.announce(a.view, view)
	}
	a.delivered = nil
	a.show(view)
	if keeps {
		a.tell.offer(view, now)
	}
}

// consult moves on what is written, if this worker is the one to do so, and else reads
// it.
func (a *Alerts) consult(ctx context.Context) (view book, keeps bool, err error) {
	if a.keeper == nil {
		call, cancel := context.WithTimeout(ctx, rowsWithin)
		keeper, err := a.rows.Keep(call)
		cancel()
		switch {
		case errors.Is(err, a.busy):
			view, err = a.follow(ctx)
			return view, false, err
		case err != nil:
			return nil, false, err
		}
		a.keeper = keeper
	}
	if view, err = a.keep(ctx); err != nil {
		a.resign()
	}
	return view, true, err
}

// resign lets another worker evaluate.
func (a *Alerts) resign() {
	if a.keeper != nil {
		a.keeper.Close()
		a.keeper = nil
	}
}

// keep evaluates as the only worker: what has changed is written before anybody is told.
func (a *Alerts) keep(ctx context.Context) (book, error) {
	call, cancel := context.WithTimeout(ctx, rowsWithin)
	defer cancel()
	rows, err := a.keeper.Alerts(call)
	if err != nil {
		return nil, err
	}
	now, written := a.now(), bookOf(rows)
	before := a.caughtUp(written)
	view := before.evaluated(a.look(ctx, true), a.cfg, now)
	values := now.Sub(a.valuesAt) >= valuesEvery
	if changes := written.changesTo(view, values); !changes.none() {
		call, cancel := context.WithTimeout(ctx, rowsWithin)
		defer cancel()
		if err := a.keeper.SaveAlerts(call, changes); err != nil {
			return nil, err
		}
	}
	if values {
		a.valuesAt = now
	}
	a.announce(before, view)
	return view, nil
}

// follow reads what another worker evaluates. What this one has found alone, or was told
// by the receiver, is written first.
func (a *Alerts) follow(ctx context.Context) (book, error) {
	ctx, cancel := context.WithTimeout(ctx, rowsWithin)
	defer cancel()
	rows, err := a.rows.Alerts(ctx)
	if err != nil {
		return nil, err
	}
	written := bookOf(rows)
	if !a.alone && len(a.delivered) == 0 {
		return written, nil
	}
	view := a.caughtUp(written)
	if changes := written.changesTo(view, true); !changes.none() {
		return view, a.rows.SaveAlerts(ctx, changes)
	}
	return view, nil
}

// caughtUp is what is written with what this worker knows beyond it.
func (a *Alerts) caughtUp(written book) book {
	if a.alone {
		written = written.merged(a.view)
	}
	return a.told(written)
}

// told marks what the receiver has acknowledged last, whatever an alert is by now.
func (a *Alerts) told(b book) book {
	marked := make(book, len(b))
	for key, alert := range b {
		for _, d := range a.delivered {
			if sent, ok := d.alerts[key]; ok {
				alert.Told = untold(sent)
			}
		}
		marked[key] = alert
	}
	return marked
}

// announce logs what began and what ended.
func (a *Alerts) announce(before, after book) {
	for key, alert := range after {
		was := before[key].State
		if was == alert.State {
			continue
		}
		log := a.log.With("alert", key.Name, "value", alert.Value, "summary", alert.Summary, "runbook", a.cfg.RunbookOf(key.Name))
		if key.SaleID != "" {
			log = log.With("sale", key.SaleID)
		}
		if key.Dependency != "" {
			log = log.With("dependency", key.Dependency)
		}
		switch {
		case alert.State == sale.AlertFiring:
			log.Error("alert fires")
		case alert.State == sale.AlertResolved && was == sale.AlertFiring:
			log.Info("alert resolved")
		}
	}
}

func (a *Alerts) show(view book) {
	a.mu.Lock()
	a.view = view
	a.mu.Unlock()
	a.metrics.show(view)
}
