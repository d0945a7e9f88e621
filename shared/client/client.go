package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Config of a client. BaseURLs is needed, Token for everything but Sales and Sale;
// zero values of the others take the defaults named.
type Config struct {
	BaseURLs []string      // of gateways; the next is asked when one fails
	Token    string        // the buyer's JWT
	Timeout  time.Duration // of one request, beside what it asks the gateway to wait; default 10 s
	Polling  bool          // read tickets at poll_after_ms only: for networks that cut requests that take long
	HTTP     *http.Client  // to share connections between buyers; default one with connections of its own
}

const defaultTimeout = 10 * time.Second

// Client acts for one buyer. It is safe for concurrent use; purchases are made one
// after the other.
type Client struct {
	config Config
	owned  *http.Transport // nil when HTTP was given
	base   atomic.Uint32   // counts up; which of BaseURLs is asked

	turn   chan struct{} // holds one token; who has it may buy, and touch what follows
	doubts map[purchase]time.Time
	given  map[string]purchase // tickets that Buy has returned
}

// New makes a client; it connects on first use.
func New(c Config) (*Client, error) {
	if len(c.BaseURLs) == 0 {
		return nil, errors.New("cannot make a client: no base url is given")
	}
	bases := make([]string, len(c.BaseURLs))
	for i, base := range c.BaseURLs {
		u, err := url.Parse(base)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return nil, fmt.Errorf("cannot make a client: base url %q is not http://HOST or https://HOST", base)
		}
		bases[i] = strings.TrimSuffix(base, "/")
	}
	c.BaseURLs = bases
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	client := &Client{turn: make(chan struct{}, 1), doubts: make(map[purchase]time.Time), given: make(map[string]purchase)}
	if c.HTTP == nil {
		client.owned = http.DefaultTransport.(*http.Transport).Clone()
		c.HTTP = &http.Client{Transport: client.owned}
	}
	client.config = c
	client.turn <- struct{}{}
	return client, nil
}

// Close drops idle connections that are the client's own. Requests under way end
// with their contexts.
func (c *Client) Close() {
	if c.owned != nil {
		c.owned.CloseIdleConnections()
	}
}
