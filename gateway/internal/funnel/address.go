package funnel

import (
	"fmt"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
	"sluice/gateway/internal/client"
)

// AddressConfig bounds what one client address may attempt.
type AddressConfig struct {
	Rate    float64 // attempts a second; 0 is unlimited
	Burst   int     // attempts at once
	Clients int     // addresses remembered; the least recently seen is forgotten
}

// Check refuses what makes no sense; the errors name the gateway's flags.
func (c AddressConfig) Check() error {
	switch {
	case !finite(c.Rate) || c.Rate > 0 && c.Rate < leastAddressRate:
		return fmt.Errorf("-address-rate must be 0 or a number from %v, is %v", leastAddressRate, c.Rate)
	case c.Rate > 0 && c.Burst < 1:
		return fmt.Errorf("-address-burst must be at least 1, is %d", c.Burst)
	case c.Rate > 0 && (c.Clients < addressShards || c.Clients > mostClients):
		return fmt.Errorf("-address-clients must be %d to %d, is %d", addressShards, mostClients, c.Clients)
	}
	return nil
}

const (
	leastAddressRate = 0.001 // attempts a second
	mostClients      = 50_000_000
)

// addressShards keeps clients from waiting for each other's lock.
const addressShards = 64

// AddressLimit is a token bucket an address, in bounded memory for any number of
// clients. The nil limit lets everybody through.
type AddressLimit struct {
	config AddressConfig
	seed   maphash.Seed
	shards [addressShards]addressShard
}

type addressShard struct {
	mu      sync.Mutex
	buckets *simplelru.LRU[netip.Addr, *rate.Limiter]
}

// NewAddressLimit builds the limit; nil when it is off. The configuration must
// have passed Check.
func NewAddressLimit(c AddressConfig) (*AddressLimit, error) {
	if c.Rate == 0 {
		return nil, nil
	}
	l := &AddressLimit{config: c, seed: maphash.MakeSeed()}
	for i := range l.shards {
		buckets, err := simplelru.NewLRU[netip.Addr, *rate.Limiter](c.Clients/addressShards, nil)
		if err != nil {
			return nil, fmt.Errorf("cannot remember %d addresses: %w", c.Clients, err)
		}
		l.shards[i].buckets = buckets
	}
	return l, nil
}

// Policy is the limit as the RateLimit-Policy header says it.
func (l *AddressLimit) Policy() string {
	window := max(1, int(float64(l.config.Burst)/l.config.Rate))
	return fmt.Sprintf(`"address";q=%d;w=%d`, l.config.Burst, window)
}

// Allow takes one attempt out of the address's bucket; if it is empty, retry is
// how long until it is not. An IPv6 client is its /64: it may own every address
// of it.
func (l *AddressLimit) Allow(address netip.Addr, now time.Time) (retry time.Duration, ok bool) {
	if l == nil {
		return 0, true
	}
	network := client.Network(address)
	shard := &l.shards[maphash.Comparable(l.seed, network)%addressShards]
	shard.mu.Lock()
	bucket, known := shard.buckets.Get(network)
	if !known {
		bucket = rate.NewLimiter(rate.Limit(l.config.Rate), l.config.Burst)
		shard.buckets.Add(network, bucket)
	}
	shard.mu.Unlock()
	if bucket.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - bucket.TokensAt(now)
	return time.Duration(missing / l.config.Rate * float64(time.Second)), false
}
