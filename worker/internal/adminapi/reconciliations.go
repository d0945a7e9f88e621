package adminapi

import (
	"context"
	"net/http"

	"sluice/shared/sale"
)

// How much of the past a list shows.
const (
	shownRuns = 100
	shownDays = 31
)

// reconciliations are what comparing the stores found.
type reconciliations interface {
	// ReconciliationRuns and ReconciliationDays return the newest first.
	ReconciliationRuns(ctx context.Context, limit int) ([]sale.ReconciliationRun, error)
	ReconciliationDays(ctx context.Context, limit int) ([]sale.ReconciliationDay, error)
	ReconciliationsOf(ctx context.Context, run int64) ([]sale.Reconciliation, error)
}

// reconciler compares the stores at once and returns the run's number.
type reconciler interface {
	RunNow(ctx context.Context) (run int64, err error)
}

// reconciled lists, and compares the stores first when that is asked for.
func (a *API) reconciled(ctx context.Context, c call) {
	if c.r.Method == http.MethodPost {
		a.reconcile(ctx, c)
		return
	}
	a.listReconciliations(ctx, c)
}

// listReconciliations is GET /admin/v1/reconciliations: runs, days, and what the newest
// finished run found, by sale.
func (a *API) listReconciliations(ctx context.Context, c call) {
	if _, bad := c.query(); bad != nil {
		bad.write(c.w)
		return
	}
	runs, err := c.Reconciliations.ReconciliationRuns(ctx, shownRuns)
	if err != nil {
		a.fail(c, err)
		return
	}
	days, err := c.Reconciliations.ReconciliationDays(ctx, shownDays)
	if err != nil {
		a.fail(c, err)
		return
	}
	var newest int64
	for _, r := range runs {
		if !r.FinishedAt.IsZero() {
			newest = r.Run
			break
		}
	}
	sales, err := c.Reconciliations.ReconciliationsOf(ctx, newest)
	if err != nil {
		a.fail(c, err)
		return
	}
	c.answer(http.StatusOK, struct {
		Runs  []sale.ReconciliationRun `json:"runs"`
		Days  []sale.ReconciliationDay `json:"days"`
		Sales []sale.Reconciliation    `json:"sales"`
	}{append([]sale.ReconciliationRun{}, runs...), append([]sale.ReconciliationDay{}, days...), append([]sale.Reconciliation{}, sales...)})
}

// reconcile is POST /admin/v1/reconciliations: it answers like the list once a run that
// it asked for is over.
func (a *API) reconcile(ctx context.Context, c call) {
	if bad := c.emptyBody(); bad != nil {
		bad.write(c.w)
		return
	}
	if _, err := c.Reconciler.RunNow(ctx); err != nil {
		a.fail(c, err)
		return
	}
	a.listReconciliations(ctx, c)
}
