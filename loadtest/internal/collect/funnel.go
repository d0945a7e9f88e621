package collect

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"sluice/loadtest/internal/report"
)

// Metrics of the funnel, as gateways export them.
const (
	enteredMetric = "sluice_funnel_entered_total"
	exitsMetric   = "sluice_funnel_exits_total"
)

const scrapeTimeout = 5 * time.Second

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
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("cannot scrape %s: %w", url, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("cannot scrape %s: %w", url, err)
	}
	defer resp.Body.Close() // nothing is written, so nothing is lost by a failed close
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("cannot scrape %s: answered %s", url, resp.Status)
	}
	if err := addFunnel(resp.Body, into); err != nil {
		return fmt.Errorf("cannot scrape %s: %w", url, err)
	}
	return nil
}

// addFunnel adds one gateway's counters to the layers.
func addFunnel(metrics io.Reader, into map[string]report.Layer) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(metrics)
	if err != nil {
		return fmt.Errorf("cannot read metrics: %w", err)
	}
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
