package collect

import "context"

// Gateway is what one gateway says of its admission and of what waits for the workers.
type Gateway struct {
	Told     bool    // it tells its rates of admission; else they mean nothing
	AllSales float64 // attempts a second let through to Redis; 0 is unlimited
	OneSale  float64 // of any one sale
	Waiting  float64 // reservations without an outcome, of all sales, as of a second ago
}

// ReadGateway scrapes a gateway, given by the URL of its ops listener.
func ReadGateway(ctx context.Context, opsURL string) (g Gateway, err error) {
	families, err := metrics(ctx, opsURL+"/metrics")
	if err != nil {
		return g, err
	}
	for _, m := range families["sluice_admission_attempts_per_second"].GetMetric() {
		g.Told = true
		switch label(m, "of") {
		case "all_sales":
			g.AllSales = m.GetGauge().GetValue()
		case "one_sale":
			g.OneSale = m.GetGauge().GetValue()
		}
	}
	for _, m := range families["sluice_backlog_waiting"].GetMetric() {
		g.Waiting += m.GetGauge().GetValue()
	}
	return g, nil
}
