package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"sluice/shared/retirement"
	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	retireWithin = 2 * time.Minute  // of one sale, its audit included
	retireAgain  = 10 * time.Minute // after an audit that failed: a person has to look first
	knownEvery   = time.Minute      // between looks for what a restored store has brought back
)

// Failpoints between the steps of a retirement.
const (
	Retired = "worker." + retirement.Retired
	Cleared = "worker." + retirement.Cleared
)

// RetirementConfig says when a sale leaves the stores.
type RetirementConfig struct {
	Every       time.Duration // between two rounds
	Retention   time.Duration // from a sale's end to its retirement
	ForgetAfter time.Duration // for how long gateways are told that it is retired
}

// over are the sales that are to be retired, cleared away and forgotten.
type over interface {
	Over(ctx context.Context, retention time.Duration) (saleIDs []string, err error)
	Uncleared(ctx context.Context) ([]sale.Entry, error)
	Unforgotten(ctx context.Context, after time.Duration) ([]sale.Entry, error)
	// ApplyRetired marks releases of retired sales: Redis has nothing of them.
	ApplyRetired(ctx context.Context) (applied int64, err error)
	// Remember takes those of these sales up again that were forgotten.
	Remember(ctx context.Context, saleIDs []string) (n int64, err error)
}

// known lists the sales that the stream or the catalogue has something of.
type known interface {
	Known(ctx context.Context) (saleIDs []string, err error)
}

// retirer does the steps of one sale.
type retirer interface {
	Retire(ctx context.Context, saleID string, retention time.Duration) ([]retirement.Reason, error)
	Clear(ctx context.Context, e sale.Entry) error
	Forget(ctx context.Context, e sale.Entry) error
}

// Retiring takes sales that are over out of the stores. Any number of workers may
// run it; a sale that another has in hand is left to it.
type Retiring struct {
	cfg     RetirementConfig
	rows    over
	stream  known
	steps   retirer
	busy    error // what a step fails with whose sale another process has
	metrics *Metrics
	log     *slog.Logger
	faults  service.Quiet

	audited map[string]time.Time // when the audit of a sale failed
	looked  time.Time            // at what is known
}

// NewRetiring builds the loop. busy is the error of a sale that is locked.
func NewRetiring(cfg RetirementConfig, rows over, stream known, steps retirer, busy error, m *Metrics, log *slog.Logger) *Retiring {
	return &Retiring{cfg: cfg, rows: rows, stream: stream, steps: steps, busy: busy, metrics: m, log: log, audited: map[string]time.Time{}}
}

// Run retires until ctx ends.
func (r *Retiring) Run(ctx context.Context) {
	ticker := time.NewTicker(r.cfg.Every)
	defer ticker.Stop()
	for {
		if err := r.round(ctx); err != nil && ctx.Err() == nil && r.faults.Allow() {
			r.log.Warn("retirement postponed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// round takes every sale a step on. What is retired in it is cleared in the next:
// by then the other workers have heard.
func (r *Retiring) round(ctx context.Context) error {
	return errors.Join(r.applyReleases(ctx), r.clearAll(ctx), r.forgetAll(ctx), r.retireAll(ctx), r.remember(ctx))
}

func (r *Retiring) applyReleases(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, expireWithin)
	defer cancel()
	applied, err := r.rows.ApplyRetired(call)
	if applied > 0 {
		r.log.Info("releases of retired sales marked", "releases", applied)
	}
	return err
}

func (r *Retiring) clearAll(ctx context.Context) error {
	return r.each(ctx, r.rows.Uncleared, r.steps.Clear, "sale cleared")
}

func (r *Retiring) forgetAll(ctx context.Context) error {
	due := func(ctx context.Context) ([]sale.Entry, error) { return r.rows.Unforgotten(ctx, r.cfg.ForgetAfter) }
	return r.each(ctx, due, r.steps.Forget, "sale forgotten")
}

// each does one step of the sales that are due for it. One sale's fault does not
// keep the others.
func (r *Retiring) each(ctx context.Context, due func(context.Context) ([]sale.Entry, error),
	step func(context.Context, sale.Entry) error, done string) error {
	read, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	entries, err := due(read)
	faults := []error{err}
	for _, e := range entries {
		if ctx.Err() != nil {
			break
		}
		call, cancel := context.WithTimeout(ctx, convergeWithin)
		err := step(call, e)
		cancel()
		switch {
		case errors.Is(err, r.busy):
		case err != nil:
			faults = append(faults, err)
		default:
			r.log.Info("retired sale moved on", "sale", e.ID, "step", done)
		}
	}
	return errors.Join(faults...)
}

func (r *Retiring) retireAll(ctx context.Context) error {
	read, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	ids, err := r.rows.Over(read, r.cfg.Retention)
	if err != nil {
		return err
	}
	blocked := map[string]int{}
	audited := map[string]time.Time{} // only of sales that are still there
	var faults []error
	for _, id := range ids {
		if at, failed := r.audited[id]; failed && time.Since(at) < retireAgain {
			audited[id] = at
			blocked[retirement.KindAudit]++
			continue
		}
		reasons, err := r.retire(ctx, id)
		faults = append(faults, err)
		for _, kind := range kindsOf(reasons) {
			blocked[kind]++
			if kind == retirement.KindAudit {
				audited[id] = time.Now()
			}
		}
	}
	r.audited = audited
	for _, kind := range retirement.Kinds() {
		r.metrics.blocked.WithLabelValues(kind).Set(float64(blocked[kind]))
	}
	return errors.Join(faults...)
}

func (r *Retiring) retire(ctx context.Context, saleID string) ([]retirement.Reason, error) {
	call, cancel := context.WithTimeout(ctx, retireWithin)
	defer cancel()
	reasons, err := r.steps.Retire(call, saleID, r.cfg.Retention)
	switch {
	case errors.Is(err, r.busy):
		return nil, nil
	case err != nil:
		return nil, err
	case len(reasons) == 0:
		r.metrics.retired.Inc()
		r.log.Info("sale retired", "sale", saleID)
	case reasons[len(reasons)-1].Kind == retirement.KindAudit:
		r.log.Error("sale not retired: its audit failed", "sale", saleID, "violations", retirement.Text(reasons))
	default:
		r.log.Debug("sale not retired yet", "sale", saleID, "reasons", retirement.Text(reasons))
	}
	return reasons, nil
}

// kindsOf names each kind once.
func kindsOf(reasons []retirement.Reason) []string {
	var kinds []string
	for i, reason := range reasons {
		if i == 0 || reason.Kind != reasons[i-1].Kind { // they come in the order of kinds
			kinds = append(kinds, reason.Kind)
		}
	}
	return kinds
}

// remember looks now and then for sales that were forgotten and are there again,
// because NATS was restored from an old copy.
func (r *Retiring) remember(ctx context.Context) error {
	if time.Since(r.looked) < knownEvery {
		return nil
	}
	r.looked = time.Now()
	call, cancel := context.WithTimeout(ctx, convergeWithin)
	defer cancel()
	ids, err := r.stream.Known(call)
	if err != nil || len(ids) == 0 {
		return err
	}
	n, err := r.rows.Remember(call, ids)
	if n > 0 {
		r.log.Warn("forgotten sales are back and will be cleared away again", "sales", n)
	}
	return err
}
