package service

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// NewRegistry returns a registry of its own for one process, with the Go
// runtime's and the process's metrics, and sluice_build_info.
func NewRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(ReadVersion()),
	)
	return registry
}

// buildInfo is 1, for joining other series with the version of who exports them.
func buildInfo(v Version) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sluice_build_info", Help: "1, labelled with the version of the program, its commit and its Go.",
		ConstLabels: prometheus.Labels{"version": v.Version, "commit": v.Commit, "go": v.Go},
	})
	info.Set(1)
	return info
}
