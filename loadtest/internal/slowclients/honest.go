package slowclients

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/loadtest/internal/wait"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

const (
	answerTimeout = 10 * time.Second
	oneInNew      = 10 // one attempt of so many comes over a new connection
)

// honest are the clients whose latency counts. Every attempt is of another buyer.
type honest struct {
	Config
	url     string
	secrets stack.Secrets
	next    atomic.Int64 // buyer
}

// stage is what honest clients saw in one measurement.
type stage struct {
	kept, fresh record.Summary // latencies over connections that are kept, and over new ones
	served      int            // attempts answered 202
	other       map[string]int // everything else, by status or error
}

type answers struct {
	mu        sync.Mutex
	latencies record.Latencies
	served    int
	other     map[string]int
}

// run sends attempts when they are due, for the length of a stage. A latency counts
// from then, so that waiting for a slow answer counts.
func (h *honest) run(ctx context.Context) stage {
	kept := &http.Client{Timeout: answerTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: h.Kept, MaxConnsPerHost: h.Kept}}
	fresh := &http.Client{Timeout: answerTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	defer kept.CloseIdleConnections()
	seen := &answers{other: map[string]int{}}
	began := time.Now()
	var senders sync.WaitGroup
	for i := range int(h.Stage.Seconds() * float64(h.PerSecond)) {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(h.PerSecond))
		if !wait.For(ctx, time.Until(due)) {
			break
		}
		client, class := kept, keptClass
		if i%oneInNew == 0 {
			client, class = fresh, freshClass
		}
		senders.Go(func() { h.attempt(ctx, client, class, due, seen) })
	}
	senders.Wait()
	all := seen.latencies.Summaries()
	return stage{kept: all[keptClass], fresh: all[freshClass], served: seen.served, other: seen.other}
}

const keptClass, freshClass = "kept", "fresh"

func (h *honest) attempt(ctx context.Context, client *http.Client, class string, due time.Time, seen *answers) {
	status, err := h.send(ctx, client)
	took := time.Since(due)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	switch {
	case err != nil:
		seen.other["error"]++
	case status != http.StatusAccepted:
		seen.other[strconv.Itoa(status)]++
	default:
		seen.served++
	}
	seen.latencies.Add(class, took) // of a failure too: it is what the client waited
}

func (h *honest) send(ctx context.Context, client *http.Client) (status int, err error) {
	buyer := "buyer-" + strconv.FormatInt(h.next.Add(1), 10)
	token, err := auth.Mint([]byte(h.secrets.JWTHS256), h.secrets.JWTIssuer, h.secrets.JWTAudience, buyer, sale.Claims{}, time.Now(), time.Hour)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/v1/sales/"+saleID+"/orders", nil)
	if err != nil {
		return 0, fmt.Errorf("cannot attempt: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("cannot attempt: %w", err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0, fmt.Errorf("cannot read answer: %w", err)
	}
	return res.StatusCode, nil
}
