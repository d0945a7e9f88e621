package chaos

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// askWithin bounds one call: workers answer within 8 s.
const askWithin = 15 * time.Second

// send sends a request to a worker, "" for one without a body, and returns the answer.
func (r *Round) send(ctx context.Context, method, url, token, body string) (status int, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("cannot ask %s: %w", url, err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("cannot ask %s: %w", url, err)
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		return response.StatusCode, nil, fmt.Errorf("cannot read the answer of %s: %w", url, err)
	}
	return response.StatusCode, answer, nil
}

// cancel has a buyer ask a worker to cancel an order.
func (r *Round) cancel(ctx context.Context, worker, buyer int, order string) (status int, err error) {
	workers := r.stack.Info().Workers
	status, _, err = r.send(ctx, http.MethodPost, workers[worker%len(workers)].URL+"/v1/orders/"+order+"/cancel", r.token(buyer), "")
	return status, err
}
