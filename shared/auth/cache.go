package auth

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// MostTokens is the largest cache: it takes about a gigabyte.
const MostTokens = 2_000_000

const (
	cacheShards    = 64      // so that requests do not wait for each other's lock
	maxCachedBytes = 2 << 10 // what a longer token says could take more memory than it saves work
)

// tokenDigest stands for a token: the cache holds nothing that could be shown again.
type tokenDigest [sha256.Size]byte

// believed is what a verified token said.
type believed struct {
	identity   Identity
	valid      period
	generation uint64 // of the keys that verified it
}

// tokenCache remembers verified tokens, the most recently shown, in bounded memory for
// any number of them: those of public keys, and whatever else is not plain. To verify a
// plain one costs about as much as to look for it here. What was refused is not remembered.
// The nil cache remembers nothing.
type tokenCache struct {
	shards [cacheShards]cacheShard
}

type cacheShard struct {
	mu     sync.Mutex
	tokens *simplelru.LRU[tokenDigest, believed]
}

// newTokenCache makes a cache of size tokens, rounded up to a multiple of the shards.
func newTokenCache(size int) (*tokenCache, error) {
	if size == 0 {
		return nil, nil
	}
	if size < 0 || size > MostTokens {
		return nil, fmt.Errorf("cannot remember %d tokens: 0 to %d", size, MostTokens)
	}
	c := &tokenCache{}
	for i := range c.shards {
		tokens, err := simplelru.NewLRU[tokenDigest, believed]((size+cacheShards-1)/cacheShards, nil)
		if err != nil {
			return nil, fmt.Errorf("cannot remember %d tokens: %w", size, err)
		}
		c.shards[i].tokens = tokens
	}
	return c, nil
}

func (c *tokenCache) shard(d tokenDigest) *cacheShard { return &c.shards[d[0]%cacheShards] }

// find returns who a token speaks for if it was verified with the keys of this
// generation and may still be believed.
func (c *tokenCache) find(d tokenDigest, generation uint64, now time.Time) (Identity, bool) {
	if c == nil {
		return Identity{}, false
	}
	s := c.shard(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	b, known := s.tokens.Get(d)
	if !known {
		return Identity{}, false
	}
	if b.generation != generation || !b.valid.holds(now) {
		s.tokens.Remove(d)
		return Identity{}, false
	}
	return b.identity, true
}

func (c *tokenCache) keep(d tokenDigest, b believed) {
	if c == nil {
		return
	}
	s := c.shard(d)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens.Add(d, b)
}

// len counts what is remembered.
func (c *tokenCache) len() int {
	n := 0
	if c == nil {
		return n
	}
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		n += s.tokens.Len()
		s.mu.Unlock()
	}
	return n
}
