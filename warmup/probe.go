package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"sluice/shared/service"
)

// maxProbeBytes is far above the answer of a gateway.
const maxProbeBytes = 64 << 10

// ask returns nil when the probe answers 200, else why not, in one line.
func ask(ctx context.Context, client *http.Client, probe string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, probe, nil)
	if err != nil {
		return fmt.Errorf("cannot ask %s: %w", probe, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", probe, bare(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxProbeBytes))
	if err != nil {
		return fmt.Errorf("%s breaks off: %w", probe, bare(err))
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d %s", probe, response.StatusCode, why(body))
	}
	return nil
}

// bare takes the URL off a client's error: it is named already.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// why reads a probe's body: its status, its reason, and the phases that are not
// done.
func why(body []byte) string {
	var answer struct {
		Status string
		Reason string
		Phases []service.PhaseReport
	}
	if json.Unmarshal(body, &answer) != nil || answer.Status == "" {
		return "with no status"
	}
	var parts []string
	if answer.Reason != "" {
		parts = append(parts, answer.Reason)
	}
	for _, p := range answer.Phases {
		if p.State != service.PhaseDone {
			parts = append(parts, strings.TrimSuffix(fmt.Sprintf("%s %s for %.1fs: %s", p.Name, p.State, p.AgeSeconds, p.LastError), ": "))
		}
	}
	if len(parts) == 0 {
		return answer.Status
	}
	return answer.Status + " (" + strings.Join(parts, ", ") + ")"
}
