package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// dependencyPeriod is how old the gauge may be.
const dependencyPeriod = time.Second

// dependencies exports whether the stores answer. Readiness does not depend on it:
// one slow store must not take every gateway out.
type dependencies struct {
	up     *prometheus.GaugeVec
	probes map[string]func(context.Context) error
}

func newDependencies(g *gateway) *dependencies {
	d := &dependencies{
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_dependency_up", Help: "1 when the store answered last, 0 when it did not.",
		}, []string{"dependency"}),
		probes: map[string]func(context.Context) error{"redis": g.stock.Ping, "nats": g.queue.Flush},
	}
	g.registry.MustRegister(d.up)
	return d
}

func (d *dependencies) watch(ctx context.Context) {
	ticker := time.NewTicker(dependencyPeriod)
	defer ticker.Stop()
	for {
		for name, probe := range d.probes {
			once, cancel := context.WithTimeout(ctx, dependencyPeriod)
			up := 0.0
			if probe(once) == nil {
				up = 1
			}
			cancel()
			d.up.WithLabelValues(name).Set(up)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
