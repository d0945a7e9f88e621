package service

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// dependencyPeriod is between two probes, and the most time of one: the gauge is at
// most two periods old.
const dependencyPeriod = time.Second

// Dependencies exports whether the stores answer. Readiness does not depend on it:
// one slow store must not take every process out.
type Dependencies struct {
	up     *prometheus.GaugeVec
	probes map[string]func(context.Context) error
}

// NewDependencies registers sluice_dependency_up with one label a probe.
func NewDependencies(reg prometheus.Registerer, probes map[string]func(context.Context) error) *Dependencies {
	d := &Dependencies{
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_dependency_up", Help: "1 when the store answered last, 0 when it did not, or was not asked yet.",
		}, []string{"dependency"}),
		probes: probes,
	}
	reg.MustRegister(d.up)
	for name := range probes {
		d.up.WithLabelValues(name).Set(0)
	}
	return d
}

// Watch probes once a second until ctx ends.
func (d *Dependencies) Watch(ctx context.Context) {
	ticker := time.NewTicker(dependencyPeriod)
	defer ticker.Stop()
	for {
		var probing sync.WaitGroup
		for name, probe := range d.probes {
			probing.Go(func() { d.up.WithLabelValues(name).Set(answers(ctx, probe)) })
		}
		probing.Wait()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func answers(ctx context.Context, probe func(context.Context) error) float64 {
	ctx, cancel := context.WithTimeout(ctx, dependencyPeriod)
	defer cancel()
	if probe(ctx) != nil {
		return 0
	}
	return 1
}
