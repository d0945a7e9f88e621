package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxAnswer bounds what is read of one answer, in bytes.
const maxAnswer = 1 << 20

// request is one call to make.
type request struct {
	method, path string
	header       map[string]string
	wait         time.Duration // that the gateway is asked to wait
	public       bool          // needs no token, so that shared caches may answer
}

// answer is what a call brought back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call makes one request. A failure of the network, or a 5xx, lets the next
// request go to the next gateway.
func (c *Client) call(ctx context.Context, r request) (answer, error) {
	turn := c.base.Load()
	base := c.config.BaseURLs[int(turn)%len(c.config.BaseURLs)]
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout+r.wait)
	defer cancel()
	a, err := c.send(ctx, base, r)
	if err != nil || a.status >= http.StatusInternalServerError {
		c.base.CompareAndSwap(turn, turn+1)
	}
	if err != nil {
		return answer{}, fmt.Errorf("cannot %s %s%s: %w", strings.ToLower(r.method), base, r.path, err)
	}
	return a, nil
}

func (c *Client) send(ctx context.Context, base string, r request) (answer, error) {
	var body io.Reader
	if r.method == http.MethodPost {
		// Of a type that net/http cannot rewind: it would send an attempt with an
		// idempotency key again by itself, and nobody would know of the first one.
		body = io.NopCloser(strings.NewReader("{}"))
	}
	req, err := http.NewRequestWithContext(ctx, r.method, base+r.path, body)
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		req.ContentLength = int64(len("{}"))
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	if !r.public {
		req.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	resp, err := c.config.HTTP.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close() // it was only read
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return answer{}, err
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: content}, nil
}

// into reads a successful answer's body, and makes a *Refusal of any other.
func (a answer) into(v any) error {
	if a.status != http.StatusOK && a.status != http.StatusCreated && a.status != http.StatusAccepted {
		return refusalOf(a)
	}
	if err := json.Unmarshal(a.body, v); err != nil {
		return fmt.Errorf("cannot read an answer %d: %w", a.status, err)
	}
	return nil
}
