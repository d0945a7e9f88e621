package reconcile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	looks       = 3                      // that must agree before a finding is one
	lookPause   = 100 * time.Millisecond // between two of them
	lookWithin  = 30 * time.Second       // of one: it counts a sale's rows
	couponsIn   = 10 * time.Second       // of what is read about coupons
	callWithin  = 2 * time.Second        // of anything else
	runWithin   = 10 * time.Minute       // of all sales
	busyPause   = 100 * time.Millisecond // before RunNow looks again whether another run is over
	leastPeriod = 100 * time.Millisecond
)

// Reconciled is the failpoint between the row of a sale that has something to repair,
// and the repair.
const Reconciled = "worker.reconciled"

// rows are what Postgres says, and where the runs are written.
type rows interface {
	Entries(ctx context.Context) ([]sale.Entry, error)
	Holdings(ctx context.Context, saleID string, stuckAfter time.Duration) (sale.Holdings, error)
	// CouponHoldings is about the template's coupons.
	CouponHoldings(ctx context.Context, saleID string) (sale.CouponEvidence, error)
	LockReconciliation(ctx context.Context) (unlock func(), err error)
	// BeginReconciliation returns 0 when a run began less than apart ago.
	BeginReconciliation(ctx context.Context, apart time.Duration) (run int64, err error)
	LastReconciliation(ctx context.Context, saleID string) (sale.Reconciliation, error)
	SaveReconciliation(ctx context.Context, r sale.Reconciliation) error
	FinishReconciliation(ctx context.Context, run int64) error
	ReconciliationRuns(ctx context.Context, limit int) ([]sale.ReconciliationRun, error)
}

// stock is what Redis says.
type stock interface {
	Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error)
	// Correct sets the stock unless anything moved since it was seen.
	Correct(ctx context.Context, seen sale.Snapshot, handOff int64, stock int64) (snap sale.Snapshot, done bool, err error)
}

// stream is what JetStream says, and how gateways hear of a repair.
type stream interface {
	Idle(ctx context.Context, saleID string) (bool, error)
	NotifySnapshot(s sale.Snapshot) error
}

// Config of a Reconciler.
type Config struct {
	Every      time.Duration // between two runs, of all workers together
	StuckAfter time.Duration // longer than a loop ever takes to finish what it is there for
}

// Check refuses what makes no sense; the errors name the worker's flags.
func (c Config) Check() error {
	if c.Every < leastPeriod || c.StuckAfter < time.Second {
		return fmt.Errorf("-reconcile-every must be at least %v, -stuck-after at least 1s", leastPeriod)
	}
	return nil
}

// Reconciler reconciles. Any number of workers may run it: one does at a time.
type Reconciler struct {
	cfg     Config
	rows    rows
	stock   stock
	stream  stream
	busy    error // what LockReconciliation fails with while another process has it
	hit     func(failpoint string) error
	metrics *Metrics
	log     *slog.Logger
	faults  service.Quiet
	asked   chan chan outcome // runs that somebody waits for
}

// New builds a Reconciler. busy is the error of a lock that another process has.
func New(cfg Config, rows rows, stock stock, stream stream, busy error, hit func(string) error, m *Metrics, log *slog.Logger) *Reconciler {
	return &Reconciler{cfg: cfg, rows: rows, stock: stock, stream: stream, busy: busy, hit: hit, metrics: m, log: log,
		asked: make(chan chan outcome)}
}

// outcome is what became of a run that was asked for.
type outcome struct {
	run int64
	err error
}

// Run reconciles until ctx ends.
func (r *Reconciler) Run(ctx context.Context) {
	ticker := time.NewTicker(r.cfg.Every)
	defer ticker.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case reply := <-r.asked:
			var o outcome
			o.run, o.err = r.whenFree(ctx)
			reply <- o
			err = o.err
		case <-ticker.C:
			// Most of a period, so that several workers together do not run more often.
			if _, err = r.run(ctx, r.cfg.Every*9/10); errors.Is(err, r.busy) {
				err = nil
			}
		}
		if err = errors.Join(err, r.show(ctx)); err != nil && ctx.Err() == nil && r.faults.Allow() {
			r.log.Warn("reconciliation incomplete", "error", err)
		}
	}
}

// RunNow has Run reconcile at once and returns the run's number. It waits for as long
// as ctx allows; the run goes on beyond that.
func (r *Reconciler) RunNow(ctx context.Context) (run int64, err error) {
	reply := make(chan outcome, 1)
	select {
	case r.asked <- reply:
	case <-ctx.Done():
		return 0, fmt.Errorf("cannot reconcile now: another run is under way: %w", ctx.Err())
	}
	select {
	case o := <-reply:
		return o.run, o.err
	case <-ctx.Done():
		return 0, fmt.Errorf("the reconciliation is still under way: %w", ctx.Err())
	}
}

// whenFree reconciles once no other process does.
func (r *Reconciler) whenFree(ctx context.Context) (run int64, err error) {
	for {
		run, err = r.run(ctx, 0)
		if !errors.Is(err, r.busy) {
			return run, err
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(busyPause):
		}
	}
}

// run reconciles all sales, unless a run began less than apart ago: then its number is
// 0. One sale's fault does not keep the others.
func (r *Reconciler) run(ctx context.Context, apart time.Duration) (run int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, runWithin)
	defer cancel()
	unlock, err := r.rows.LockReconciliation(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if run, err = r.rows.BeginReconciliation(ctx, apart); err != nil || run == 0 {
		return 0, err
	}
	entries, err := r.rows.Entries(ctx)
	if err != nil {
		return run, err
	}
	var faults []error
	for _, e := range entries {
		if e.Epoch == 0 || e.Retired {
			continue
		}
		if err := r.sale(ctx, run, e); err != nil {
			faults = append(faults, err)
		}
		if ctx.Err() != nil {
			return run, errors.Join(append(faults, ctx.Err())...)
		}
	}
	return run, errors.Join(append(faults, r.rows.FinishReconciliation(ctx, run))...)
}

// sale reconciles one sale.
func (r *Reconciler) sale(ctx context.Context, run int64, e sale.Entry) error {
	last, err := r.rows.LastReconciliation(ctx, e.ID)
	if err != nil {
		return err
	}
	l, findings, err := r.certain(ctx, e, last)
	if err != nil {
		return err
	}
	row := rowOf(run, l, findings)
	if err := r.rows.SaveReconciliation(ctx, row); err != nil {
		return err
	}
	r.tell(row, last)
	repaired, err := r.repair(ctx, l, row.Findings, last)
	if err != nil || !repaired {
		return err
	}
	return r.rows.SaveReconciliation(ctx, row)
}

// certain looks until as many looks as it takes say the same, and only that is found.
// Coupons are read once: what Postgres says of them is as of one moment.
func (r *Reconciler) certain(ctx context.Context, e sale.Entry, last sale.Reconciliation) (l look, findings []sale.Finding, err error) {
	coupons, unread := r.coupons(ctx, e)
	for n := range looks {
		if n > 0 {
			if len(findings) == 0 {
				return l, nil, nil
			}
			select {
			case <-ctx.Done():
				return l, nil, ctx.Err()
			case <-time.After(lookPause):
			}
		}
		if l, err = r.look(ctx, e.ID); err != nil {
			return l, nil, err
		}
		l.coupons, l.unread = coupons, unread
		seen := judge(l, last, r.cfg.StuckAfter)
		if n == 0 {
			findings = seen
		} else {
			findings = agreed(findings, seen)
		}
	}
	return l, findings, nil
}

func rowOf(run int64, l look, findings []sale.Finding) sale.Reconciliation {
	h, s := l.holdings, l.snapshot
	row := sale.Reconciliation{
		Run: run, SaleID: h.Entry.ID, Epoch: h.Entry.Epoch, InRedis: l.inRedis, AtRest: l.atRest(),
		Total: h.Total, Held: h.Held, Free: h.Free(), Holding: h.Holding,
		Stock: s.Stock, SoldOut: s.SoldOut, Accepted: s.Accepted, Served: s.Served, HandOff: l.handOff.Count,
		Unapplied: h.Unapplied, Unshown: h.Unshown, DeadLetters: h.DeadLetters, Surplus: h.Surplus, Findings: findings,
	}
	if l.handOff.Count > 0 {
		row.HandOffAge = max(int64(s.Now.Sub(l.handOff.Oldest)/time.Second), 0)
	}
	for _, f := range findings {
		if f.Counts {
			row.Deviations += f.Amount
		}
	}
	return row
}

// tell logs what counts and did not count as much in the run before.
func (r *Reconciler) tell(row, last sale.Reconciliation) {
	for _, f := range row.Findings {
		told := slices.ContainsFunc(last.Findings, func(o sale.Finding) bool {
			return o.Kind == f.Kind && o.Amount == f.Amount && o.Counts && !o.Repaired
		})
		if f.Counts && !told {
			r.log.Warn("stores deviate", "sale", row.SaleID, "kind", f.Kind, "amount", f.Amount, "detail", f.Detail, "since", f.Since)
		}
	}
}

// show exports what the last finished run found, whoever did it.
func (r *Reconciler) show(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	runs, err := r.rows.ReconciliationRuns(ctx, 2)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(runs, func(run sale.ReconciliationRun) bool { return !run.FinishedAt.IsZero() })
	if i >= 0 {
		r.metrics.show(runs[i])
	}
	return nil
}
