package service

import (
	"context"
	"maps"
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

	mu   sync.Mutex
	last map[string]bool // what the last probe said
}

// NewDependencies registers sluice_dependency_up with one label a probe.
func NewDependencies(reg prometheus.Registerer, probes map[string]func(context.Context) error) *Dependencies {
	d := &Dependencies{
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sluice_dependency_up", Help: "1 when the store answered last, 0 when it did not, or was not asked yet.",
		}, []string{"dependency"}),
		probes: probes, last: map[string]bool{},
	}
	reg.MustRegister(d.up)
	for name := range probes {
		d.up.WithLabelValues(name).Set(0)
	}
	return d
}

// Start probes once a second until stop, which waits. A process starts it before it warms
// up: what it waits for then is told, and no more than that.
func (d *Dependencies) Start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	watching.Go(func() { d.watch(ctx) })
	return func() {
		cancel()
		watching.Wait()
	}
}

func (d *Dependencies) watch(ctx context.Context) {
	ticker := time.NewTicker(dependencyPeriod)
	defer ticker.Stop()
	for {
		var probing sync.WaitGroup
		for name, probe := range d.probes {
			probing.Go(func() { d.note(ctx, name, answers(ctx, probe)) })
		}
		probing.Wait()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// note keeps what a probe said, unless it was broken off.
func (d *Dependencies) note(ctx context.Context, name string, up bool) {
	if ctx.Err() != nil {
		return
	}
	value := 0.0
	if up {
		value = 1
	}
	d.up.WithLabelValues(name).Set(value)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[name] = up
}

// Up says of every store that was asked whether it answered last.
func (d *Dependencies) Up() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.last)
}

func answers(ctx context.Context, probe func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, dependencyPeriod)
	defer cancel()
	return probe(ctx) == nil
}
