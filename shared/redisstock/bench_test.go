package redisstock

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/shared/sale"
)

// BenchmarkReserve accepts attempts, and says what one costs Redis.
func BenchmarkReserve(b *testing.B) {
	c := connect(b)
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("batch-%d", size), func(b *testing.B) {
			s := newLoadedSale(b, c, 1<<40)
			batch := make([]sale.Attempt, size)
			before := redisCPU(b, c)
			b.ReportAllocs()
			for b.Loop() {
				for i := range batch {
					batch[i] = attempt(newRID())
				}
				if _, _, err := c.Reserve(b.Context(), s.ID, 1, batch); err != nil {
					b.Fatal(err)
				}
			}
			attempts := float64(b.N * size)
			b.ReportMetric(attempts/b.Elapsed().Seconds(), "attempts/s")
			b.ReportMetric(float64((redisCPU(b, c)-before).Microseconds())/attempts, "redis-us/attempt")
		})
	}
}

// redisCPU is the CPU time that Redis has used.
func redisCPU(b *testing.B, c *Client) (used time.Duration) {
	b.Helper()
	info, err := c.rdb.Info(b.Context(), "cpu").Result()
	must(b, err)
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_user" || name == "used_cpu_sys" {
			part, err := time.ParseDuration(value + "s")
			must(b, err)
			used += part
		}
	}
	return used
}

// BenchmarkSettle shows the orders of a full batch on their tickets.
func BenchmarkSettle(b *testing.B) {
	const batch = 500
	c := connect(b)
	s := newLoadedSale(b, c, 100_000_000)
	b.ReportAllocs()
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
