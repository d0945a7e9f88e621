package adminapi

import (
	"context"
	"net/http"

	"sluice/shared/sale"
)

// The calls that change a sale answer with the sale as it stands in Postgres then.
// Repeated, they change nothing. Redis and the gateways follow within a second.

func (a *API) pause(ctx context.Context, c call) {
	a.operate(ctx, c, http.StatusOK, func() (sale.Entry, error) { return c.Sales.SetPaused(ctx, c.by, c.sale, true) })
}

func (a *API) resume(ctx context.Context, c call) {
	a.operate(ctx, c, http.StatusOK, func() (sale.Entry, error) { return c.Sales.SetPaused(ctx, c.by, c.sale, false) })
}

// close lets nobody attempt any more; what was accepted is served.
func (a *API) close(ctx context.Context, c call) {
	a.operate(ctx, c, http.StatusOK, func() (sale.Entry, error) { return c.Sales.CloseSale(ctx, c.by, c.sale) })
}

// rebuild asks for the rebuild, which the workers carry out.
func (a *API) rebuild(ctx context.Context, c call) {
	a.operate(ctx, c, http.StatusAccepted, func() (sale.Entry, error) { return c.Sales.RebuildSale(ctx, c.by, c.sale) })
}

func (a *API) operate(ctx context.Context, c call, status int, change func() (sale.Entry, error)) {
	if bad := c.emptyBody(); bad != nil {
		bad.write(c.w)
		return
	}
	e, err := change()
	if err != nil {
		a.fail(c, err)
		return
	}
	a.log.Info("sale changed by an operator", "sale", e.ID, "call", c.r.URL.Path, "operator", c.by.Operator, "epoch", e.Epoch, "rev", e.Rev)
	a.answerSale(ctx, c, status)
}
