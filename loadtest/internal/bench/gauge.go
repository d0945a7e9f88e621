package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/wait"
)

// awaitGauge waits until a process's metric without labels has a value.
func awaitGauge(ctx context.Context, opsURL, name string, want float64) error {
	ctx, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	for {
		got, err := gauge(ctx, opsURL, name)
		if err == nil && got == want {
			return nil
		}
		if !wait.For(ctx, lookEvery) {
			return fmt.Errorf("metric %s is %v, not %v: %w", name, got, want, ctx.Err())
		}
	}
}

func gauge(ctx context.Context, opsURL, name string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, loop.AnswerTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, opsURL+"/metrics", nil)
	if err != nil {
		return 0, fmt.Errorf("cannot read metrics: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("cannot read metrics: %w", err)
	}
	defer resp.Body.Close() // it is only read
	return findGauge(resp.Body, name)
}

func findGauge(metrics io.Reader, name string) (float64, error) {
	lines := bufio.NewScanner(metrics)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("cannot find metric %s", name)
}

// descriptorLimit is how many files this process may have open.
func descriptorLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("cannot read the limit of open files: %w", err)
	}
	return limit.Cur, nil
}
