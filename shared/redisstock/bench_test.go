package redisstock

import (
	"testing"

	"sluice/shared/sale"
)

// BenchmarkSettle shows the orders of a full batch on their tickets.
func BenchmarkSettle(b *testing.B) {
	const batch = 500
	c := connect(b)
	s := newLoadedSale(b, c, 100_000_000)
	for b.Loop() {
		b.StopTimer()
		attempts := make([]sale.Attempt, batch)
		settlements := make([]sale.Settlement, batch)
		for i := range attempts {
			attempts[i] = attempt(newRID())
			settlements[i] = confirmed(attempts[i].RID)
		}
		reserve(b, c, s, attempts...)
		b.StartTimer()
		settle(b, c, s, settlements...)
	}
	b.ReportMetric(float64(batch*b.N)/b.Elapsed().Seconds(), "tickets/s")
}
