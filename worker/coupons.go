package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/worker/internal/checkout"
)

// coupons are what order systems do with coupons, and the loop that moves those that time
// moves. Both use buyers' connections: they must not take the orders', and calls not all
// of them.
func (p parts) coupons(c config, registry prometheus.Registerer) (calls *checkout.Calls, move func(context.Context)) {
	m := checkout.NewMetrics(registry)
	return checkout.NewCalls(p.buyers, c.buyerConns-1, p.points.Hit, m), checkout.NewJobs(p.buyers, p.points.Hit, m, p.log).Run
}
