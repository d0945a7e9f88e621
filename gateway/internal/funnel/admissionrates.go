package funnel

import "github.com/prometheus/client_golang/prometheus"

// ShowAdmission registers the rates that admission is bound to, so that whoever sees
// attempts refused as busy sees beside it what they were refused by.
func ShowAdmission(reg prometheus.Registerer, c Config) {
	rates := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "sluice_admission_attempts_per_second", Help: "Most attempts a second that this gateway lets through to Redis: of all sales, and of any one; 0 is unlimited.",
	}, []string{"of"})
	reg.MustRegister(rates)
	rates.WithLabelValues("all_sales").Set(c.AdmitRate)
	rates.WithLabelValues("one_sale").Set(c.AdmitSaleRate)
}
