package stack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// NATSUnwell is what nats-server says is wrong with it, "" if nothing is. Once JetStream
// could not write it takes nothing, and says so, until it is started again.
func (s *Stack) NATSUnwell(ctx context.Context) (why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.monitor.Addr()+"/healthz", nil)
	if err != nil {
		return "", fmt.Errorf("cannot ask whether nats is well: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("cannot ask whether nats is well: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return "", nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return "", fmt.Errorf("cannot read whether nats is well: %w", err)
	}
	return response.Status + ": " + strings.TrimSpace(string(body)), nil
}
