package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/loadtest/internal/stack"
	"sluice/shared/sale"
)

// changeWithin is three times the second or two within which gateways follow a change.
const changeWithin = 6 * time.Second

// send sends a request with a bearer token and returns the answer.
func (s *scene) send(ctx context.Context, method, url, token, body string) (status int, answer string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	s.must(err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	s.must(err)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	s.must(err)
	return res.StatusCode, string(text)
}

// operate calls the admin API about the sale; method and path are one.
func (s *scene) operate(ctx context.Context, method, path, body string) string {
	s.t.Helper()
	info := s.stack.Info()
	status, answer := s.send(ctx, method, info.Workers[0].AdminURL+"/admin/v1/sales/"+s.saleID+path, info.Secrets.AdminToken, body)
	if status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return answer
}

// follow waits until attempts of new buyers get the answer from every gateway, and
// returns how many buyers asked from the first.
func (s *scene) follow(ctx context.Context, first, status int, problem string) (asked int) {
	s.t.Helper()
	deadline := time.Now().Add(changeWithin)
	for i := range s.stack.Info().Gateways {
		for {
			got, answer := s.send(ctx, http.MethodPost, s.orders(i), s.tokens[first+asked], "")
			asked++
			if got == status && strings.Contains(answer, problem) {
				break
			}
			if time.Now().After(deadline) {
				s.t.Fatalf("gateway %d after %v: %d %s", i, changeWithin, got, answer)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return asked
}

func TestOperators_GatewaysFollowWhatTheyChange(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := openScene(ctx, t, 4, 600, stack.Config{Gateways: 2, Workers: 1})
	next := s.follow(ctx, 0, http.StatusAccepted, "queued")
	s.operate(ctx, http.MethodPost, "/pause", "")
	next += s.follow(ctx, next, http.StatusServiceUnavailable, "/problems/paused")
	s.operate(ctx, http.MethodPost, "/resume", "")
	next += s.follow(ctx, next, http.StatusConflict, "/problems/sold-out") // after the last two, or fewer
	s.operate(ctx, http.MethodPost, "/stock", `{"adjustment_id":"restock","delta":5}`)
	next += s.follow(ctx, next, http.StatusAccepted, "queued")
	next += s.follow(ctx, next, http.StatusConflict, "/problems/sold-out")
	s.operate(ctx, http.MethodPost, "/stock", `{"adjustment_id":"restock","delta":5}`) // the answer was lost, say
	s.operate(ctx, http.MethodPost, "/stock", `{"adjustment_id":"restock-again","delta":3}`)
	s.operate(ctx, http.MethodPost, "/close", "")
	s.follow(ctx, next, http.StatusConflict, "/problems/closed")

	var audit struct {
		Verdict  sale.Verdict
		AtRest   bool `json:"at_rest"`
		Evidence struct{ Total, Held int64 }
	}
	s.must(json.Unmarshal([]byte(s.operate(ctx, http.MethodGet, "/audit?wait=20", "")), &audit))
	if !audit.Verdict.Pass || !audit.AtRest || audit.Evidence.Total != 12 || audit.Evidence.Held < 9 {
		t.Errorf("audit %+v", audit)
	}
	if e := s.rest(ctx, nil, time.Minute); e.Held != audit.Evidence.Held {
		t.Errorf("%d held, the worker's audit says %d", e.Held, audit.Evidence.Held)
	}
	if standing := s.operate(ctx, http.MethodGet, "", ""); !strings.Contains(standing, `"state":"closed"`) {
		t.Errorf("the sale: %s", standing)
	}
}
