package calibrate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/loadtest/internal/stack"
	"sluice/loadtest/internal/wait"
	"sluice/shared/auth"
	"sluice/shared/sale"
)

// Witnessed is what one buyer after the other saw in a flood, who reads the whole answer,
// as those who make the flood do not.
type Witnessed struct {
	Attempts   int            `json:"attempts"`
	Busy       int            `json:"busy"`
	RetryAfter map[string]int `json:"retry_after"` // what those were told, by header
	Linked     int            `json:"linked"`      // of those, to their own tickets
	Read       int            `json:"read"`        // of those, who then could read them: 200
	Slowest    float64        `json:"slowest_ms"`  // of those reads
}

// witnessEvery is the pause between two of them: they are no load.
const witnessEvery = 100 * time.Millisecond

// witness is one buyer after the other.
type witness struct {
	stack  stack.Info
	saleID string
	run    string // tells its buyers from those of other floods
	client *http.Client
	seen   Witnessed
}

func newWitness(info stack.Info, saleID string, patience time.Duration) *witness {
	return &witness{stack: info, saleID: saleID, run: fmt.Sprint(time.Now().UnixNano()), client: &http.Client{Timeout: patience}, seen: Witnessed{RetryAfter: make(map[string]int)}}
}

// watch attempts until ctx ends. What it is not answered is not its matter: the flood's
// attempts count that.
func (w *witness) watch(ctx context.Context) Witnessed {
	defer w.client.CloseIdleConnections()
	for n := 0; wait.For(ctx, witnessEvery); n++ {
		base := w.stack.Gateways[n%len(w.stack.Gateways)].URL
		user := fmt.Sprintf("witness-%s-%d", w.run, n)
		status, header, body := w.call(ctx, http.MethodPost, base+"/v1/sales/"+w.saleID+"/orders", user)
		if ctx.Err() != nil {
			break
		}
		w.seen.Attempts++
		if status != http.StatusServiceUnavailable || !strings.Contains(string(body), `/problems/busy"`) {
			continue
		}
		w.busy(ctx, base, user, header, body)
	}
	return w.seen
}

// busy notes what a refused buyer was told, and whether its tickets can be read.
func (w *witness) busy(ctx context.Context, base, user string, header http.Header, body []byte) {
	w.seen.Busy++
	w.seen.RetryAfter[header.Get("Retry-After")]++
	var problem struct {
		MyTickets string `json:"my_tickets"`
	}
	if json.Unmarshal(body, &problem) != nil || problem.MyTickets == "" {
		return
	}
	w.seen.Linked++
	began := time.Now()
	if status, _, _ := w.call(ctx, http.MethodGet, base+problem.MyTickets, user); status == http.StatusOK {
		w.seen.Read++
		w.seen.Slowest = max(w.seen.Slowest, float64(time.Since(began).Microseconds())/1000)
	}
}

// call makes a request as a user; the status is 0 when it was not answered.
func (w *witness) call(ctx context.Context, method, url, user string) (status int, header http.Header, body []byte) {
	s := w.stack.Secrets
	token, err := auth.Mint([]byte(s.JWTHS256), s.JWTIssuer, s.JWTAudience, user, sale.Claims{}, time.Now(), time.Hour)
	if err != nil {
		return 0, nil, nil
	}
	req, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return 0, nil, nil
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, nil, nil
	}
	defer resp.Body.Close() // nothing is written, so nothing is lost by a failed close
	if body, err = io.ReadAll(resp.Body); err != nil {
		return 0, nil, nil
	}
	return resp.StatusCode, resp.Header, body
}

// words say what was witnessed.
func (w Witnessed) words() string {
	if w.Busy == 0 {
		return fmt.Sprintf("None of %d buyers who looked at the whole answer was told busy.", w.Attempts)
	}
	var told []string
	for _, value := range slices.Sorted(maps.Keys(w.RetryAfter)) {
		told = append(told, fmt.Sprintf("%q to %d", value, w.RetryAfter[value]))
	}
	return fmt.Sprintf("Of %d buyers who looked at the whole answer %d were told busy, with Retry-After %s; %d were linked to their own tickets, and %d of them could read these at once, the slowest within %s.",
		w.Attempts, w.Busy, strings.Join(told, ", "), w.Linked, w.Read, ms(w.Slowest))
}
