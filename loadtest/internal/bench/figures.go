package bench

import (
	"context"
)

// figures of one round, by name. A name ends with its unit.
type figures map[string]float64

func perSecond(name string) string { return name + "_per_s" }
func p99(name string) string       { return name + "_p99_ms" }
func client(name string) string    { return name + "_client_cores" }
func servers(name string) string   { return name + "_server_cores" }
func others(name string) string    { return name + "_other_cores" }

func (f figures) use(name string, c cores) {
	f[client(name)], f[servers(name)], f[others(name)] = c.client, c.servers, c.others
}

// measure runs a load and takes its figures.
func (b *bench) measure(ctx context.Context, name string, f figures, l load) (measurement, error) {
	l.warm, l.measured = b.warm(), b.Stage
	m, err := l.run(ctx)
	if err != nil {
		return m, err
	}
	f[perSecond(name)], f[p99(name)] = m.perSecond, m.summary.P99
	f.use(name, m.cores)
	b.unwanted[name] += m.unwanted
	for _, d := range m.latencies {
		b.latencies.Add(name, d)
	}
	b.say("%-26s %9.0f /s   p50 %7.2f ms   p99 %7.2f ms   cores: client %.2f, servers %.2f, others %.2f",
		name, m.perSecond, m.summary.P50, m.summary.P99, m.cores.client, m.cores.servers, m.cores.others)
	return m, nil
}

// ratio is one figure over another of the same round.
type ratio struct{ name, over, under string }

func (c Config) ratios() []ratio {
	all := []ratio{
		{"refusal_vs_empty", perSecond(refusalName), perSecond(emptyName(c.many()))},
		{"refusal_p99_vs_empty", p99(refusalHalfName), p99(emptyHalfName)},
	}
	for _, w := range []width{c.many(), c.few()} {
		accept := perSecond(acceptName(w))
		all = append(all,
			ratio{acceptName(w) + "_vs_one_by_one", accept, perSecond(oneByOneName(w))},
			ratio{acceptName(w) + "_vs_empty", accept, perSecond(emptyName(w))},
			ratio{runningName(w) + "_vs_empty", perSecond(runningName(w)), perSecond(emptyName(w))})
	}
	return append(all,
		ratio{"orders_vs_raw_batch", perSecond(ordersName), perSecond(rawBatchName)},
		ratio{"orders_vs_one_per_tx", perSecond(ordersName), perSecond(onePerTxName)},
		ratio{"polling_share", perSecond(pollsName), perSecond(capacityName)},
		ratio{"polling_share_fresh", perSecond(freshName), perSecond(capacityName)})
}

// of is the ratio's value in every round that has both figures.
func (r ratio) of(rounds []figures) []float64 {
	var values []float64
	for _, f := range rounds {
		over, taken := f[r.over]
		if under := f[r.under]; taken && under > 0 {
			values = append(values, over/under)
		}
	}
	return values
}
