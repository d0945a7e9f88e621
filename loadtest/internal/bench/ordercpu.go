package bench

import (
	"errors"
	"time"

	"sluice/loadtest/internal/usage"
)

// processTimes is the CPU time that programs have used, by name.
type processTimes map[string]time.Duration

// orderCPU is that of all who take part in making orders.
func (b *bench) orderCPU() (processTimes, error) {
	worker, err := usage.CPU(b.worker.PID)
	postgres, err2 := usage.Family(b.Stack.Postgres.PID)
	redis, err3 := usage.CPU(b.Stack.Redis.PID)
	nats, err4 := usage.CPU(b.Stack.NATS.PID)
	gateway, err5 := usage.CPU(b.Stack.Gateways[0].PID) // which hears every result
	return processTimes{"worker": worker, "postgres": postgres, "redis": redis, "nats": nats, "gateway": gateway},
		errors.Join(err, err2, err3, err4, err5)
}

// since records what each has used since before, in milliseconds for 1000 of n orders.
func (t processTimes) since(before processTimes, n int, measurement string, f figures) {
	for program, used := range t {
		f[measurement+"_"+program+"_cpu_ms_per_1000"] = (used - before[program]).Seconds() * 1e6 / float64(n)
	}
}
