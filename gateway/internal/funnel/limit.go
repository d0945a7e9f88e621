package funnel

import (
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"
)

// LimitConfig bounds what one client may attempt.
type LimitConfig struct {
	Name    string  // of the policy: address or user
	Rate    float64 // attempts a second; 0 is unlimited
	Burst   int     // attempts at once
	Clients int     // clients remembered; the least recently seen is forgotten
}

// Check refuses what makes no sense; the errors name the gateway's flags.
func (c LimitConfig) Check() error {
	switch {
	case !finite(c.Rate) || c.Rate > 0 && c.Rate < leastClientRate:
		return fmt.Errorf("-%s-rate must be 0 or a number from %v, is %v", c.Name, leastClientRate, c.Rate)
	case c.Rate > 0 && c.Burst < 1:
		return fmt.Errorf("-%s-burst must be at least 1, is %d", c.Name, c.Burst)
	case c.Rate > 0 && (c.Clients < limitShards || c.Clients > mostClients):
		return fmt.Errorf("-%s-clients must be %d to %d, is %d", c.Name, limitShards, mostClients, c.Clients)
	}
	return nil
}

const (
	leastClientRate = 0.001 // attempts a second
	mostClients     = 50_000_000
)

// limitShards keeps clients from waiting for each other's lock.
const limitShards = 64

// limit is a token bucket a client, in bounded memory for any number of clients:
// what is kept of one is a hash with a secret seed and its bucket, however long its
// name is. A bucket that is forgotten starts full again, so for a client that was
// quiet for burst ÷ rate forgetting changes nothing.
type limit[K comparable] struct {
	config LimitConfig
	policy string
	seed   maphash.Seed
	shards [limitShards]limitShard
}

type limitShard struct {
	mu      sync.Mutex
	buckets *simplelru.LRU[uint64, *rate.Limiter]
}

// newLimit builds the limit; nil when it is off. The configuration must have
// passed Check.
func newLimit[K comparable](c LimitConfig) (*limit[K], error) {
	if c.Rate == 0 {
		return nil, nil
	}
	l := &limit[K]{config: c, seed: maphash.MakeSeed()}
	l.policy = fmt.Sprintf(`"%s";q=%d;w=%d`, c.Name, c.Burst, max(1, int(float64(c.Burst)/c.Rate)))
	for i := range l.shards {
		buckets, err := simplelru.NewLRU[uint64, *rate.Limiter](c.Clients/limitShards, nil)
		if err != nil {
			return nil, fmt.Errorf("cannot remember %d clients: %w", c.Clients, err)
		}
		l.shards[i].buckets = buckets
	}
	return l, nil
}

// Policy is the limit as the RateLimit-Policy header says it.
func (l *limit[K]) Policy() string { return l.policy }

// allow takes one attempt out of the client's bucket; if it is empty, retry is how
// long until it is not.
func (l *limit[K]) allow(client K, now time.Time) (retry time.Duration, ok bool) {
	bucket := l.bucketOf(maphash.Comparable(l.seed, client))
	if bucket.AllowN(now, 1) {
		return 0, true
	}
	missing := 1 - bucket.TokensAt(now)
	return time.Duration(missing / l.config.Rate * float64(time.Second)), false
}

func (l *limit[K]) bucketOf(client uint64) *rate.Limiter {
	shard := &l.shards[client%limitShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	bucket, known := shard.buckets.Get(client)
	if !known {
		bucket = rate.NewLimiter(rate.Limit(l.config.Rate), l.config.Burst)
		shard.buckets.Add(client, bucket)
	}
	return bucket
}
