package attack

import (
	"net/http"
	"time"

	"sluice/shared/client"
)

// Buyers act as buyers' apps do, by the reference client, over connections apart
// from the attack's.
type Buyers struct {
	transport *http.Transport
	timeout   time.Duration
}

// NewBuyers makes buyers that share that many connections to each gateway. One
// that waits for news of a ticket occupies a connection for as long. timeout is of
// one request.
func NewBuyers(connections int, timeout time.Duration) *Buyers {
	return &Buyers{
		transport: &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: time.Minute},
		timeout:   timeout,
	}
}

// Close drops the idle connections.
func (b *Buyers) Close() { b.transport.CloseIdleConnections() }

// Buyer returns the client of one buyer, who asks the first gateway until it
// fails, then the next. A polling one never lets a gateway hold its reads.
func (b *Buyers) Buyer(token string, polling bool, gateways ...string) (*client.Client, error) {
	return client.New(client.Config{
		BaseURLs: gateways, Token: token, Polling: polling, Timeout: b.timeout,
		HTTP: &http.Client{Transport: b.transport},
	})
}
