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
)

const scrapeTimeout = 5 * time.Second

// metrics scrapes one process.
func metrics(ctx context.Context, url string) (map[string]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot scrape %s: %w", url, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot scrape %s: %w", url, err)
	}
	defer resp.Body.Close() // nothing is written, so nothing is lost by a failed close
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("cannot scrape %s: answered %s", url, resp.Status)
	}
	families, err := parse(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("cannot scrape %s: %w", url, err)
	}
	return families, nil
}

func parse(text io.Reader) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read metrics: %w", err)
	}
	return families, nil
}

// Goroutines is how many a gateway or a worker has, given by the URL of its ops listener.
func Goroutines(ctx context.Context, opsURL string) (float64, error) {
	families, err := metrics(ctx, opsURL+"/metrics")
	if err != nil {
		return 0, err
	}
	n, found := gauge(families, "go_goroutines")
	if !found {
		return 0, fmt.Errorf("%s does not tell its goroutines", opsURL)
	}
	return n, nil
}
