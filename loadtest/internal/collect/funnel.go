package collect

import (
	"context"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"sluice/loadtest/internal/report"
)

// Metrics of the funnel, as gateways export them.
const (
	enteredMetric = "sluice_funnel_entered_total"
	exitsMetric   = "sluice_funnel_exits_total"
)

// Funnel adds up the funnel counters of all gateways, given by their ops URLs,
// since these gateways started.
func Funnel(ctx context.Context, opsURLs []string) (map[string]report.Layer, error) {
	layers := make(map[string]report.Layer)
	for _, url := range opsURLs {
		if err := scrape(ctx, url+"/metrics", layers); err != nil {
			return nil, err
		}
	}
	return layers, nil
}

func scrape(ctx context.Context, url string, into map[string]report.Layer) error {
	families, err := metrics(ctx, url)
	if err != nil {
		return err
	}
	if err := addFunnel(families, into); err != nil {
		return fmt.Errorf("cannot scrape %s: %w", url, err)
	}
	return nil
}

// addFunnel adds one gateway's counters to the layers.
func addFunnel(families map[string]*dto.MetricFamily, into map[string]report.Layer) error {
	for _, name := range []string{enteredMetric, exitsMetric} {
		if families[name] == nil {
			return fmt.Errorf("metric %s is missing", name)
		}
	}
	for _, m := range families[enteredMetric].Metric {
		layer := layerOf(into, label(m, "layer"))
		layer.Entered += int64(m.GetCounter().GetValue())
		into[label(m, "layer")] = layer
	}
	for _, m := range families[exitsMetric].Metric {
		layer := layerOf(into, label(m, "layer"))
		layer.Exits[label(m, "outcome")] += int64(m.GetCounter().GetValue())
		into[label(m, "layer")] = layer
	}
	return nil
}

func layerOf(layers map[string]report.Layer, name string) report.Layer {
	layer := layers[name]
	if layer.Exits == nil {
		layer.Exits = make(map[string]int64)
	}
	return layer
}

func label(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}
