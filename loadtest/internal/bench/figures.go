package bench

import (
	"context"
	"errors"

	"sluice/loadtest/internal/loop"
)

// figures of one round, by name. A name ends with its unit.
type figures map[string]float64

func perSecond(name string) string { return name + "_per_s" }
func p99(name string) string       { return name + "_p99_ms" }
func client(name string) string    { return name + "_client_cores" }
func servers(name string) string   { return name + "_server_cores" }
func others(name string) string    { return name + "_other_cores" }

func (f figures) use(name string, c loop.Cores) {
	f[client(name)], f[servers(name)], f[others(name)] = c.Client, c.Servers, c.Others
}

// measure runs a load and takes its figures.
func (b *bench) measure(ctx context.Context, name string, f figures, l loop.Load) (loop.Measurement, error) {
	l.Warm, l.Measured = b.warm(), b.Stage
	stop, err := b.watch(ctx, name, "gateway", b.Stack.Gateways[0].OpsURL, l.Warm+l.Measured)
	if err != nil {
		return loop.Measurement{}, err
	}
	m, err := l.Run(ctx)
	if err := errors.Join(err, stop()); err != nil {
		return m, err
	}
	f[perSecond(name)], f[p99(name)] = m.PerSecond, m.Summary.P99
	f.use(name, m.Cores)
	b.unwanted[name] += m.Unwanted
	if b.watched == nil {
		for _, d := range m.Latencies {
			b.latencies.Add(name, d)
		}
	}
	b.say("%-26s %9.0f /s   p50 %7.2f ms   p99 %7.2f ms   cores: client %.2f, servers %.2f, others %.2f",
		name, m.PerSecond, m.Summary.P50, m.Summary.P99, m.Cores.Client, m.Cores.Servers, m.Cores.Others)
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
		ratio{pollingShare, perSecond(pollsName), perSecond(capacityName)},
		ratio{"polling_share_fresh", perSecond(freshName), perSecond(capacityName)},
		ratio{bruteForceRatio, triedAllTotal, searchTotal})
}

// bounded are figures that are none of two, but have a target of their own.
var bounded = []string{allocsMore, quoteP99}

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
