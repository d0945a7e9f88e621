package catalog

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"sluice/shared/sale"
)

// Catalog holds the sales by id. Reads take no lock.
type Catalog struct {
	timing    timing
	sales     atomic.Pointer[map[string]*Sale]
	mu        sync.Mutex    // serialises writers
	forgotten []func(*Sale) // told of sales that are here no more
	wanted    chan struct{} // has room for one wish that unread sales be read
	passes    sync.Mutex    // held while sales are read
}

// New returns an empty catalogue.
func New() *Catalog { return NewAt(time.Now) }

// NewAt is New in a process whose clock is process.
func NewAt(process func() time.Time) *Catalog {
	c := &Catalog{timing: timing{process: process}, wanted: make(chan struct{}, 1)}
	c.sales.Store(&map[string]*Sale{})
	return c
}

// Clock is this process's own time. Moments of it go in wherever a method takes a
// now, and decide nothing before they were made Redis time.
func (c *Catalog) Clock() time.Time { return c.timing.process() }

// Now is Redis time at a moment of Clock, by the best measurement there is; before the
// first it is the moment itself.
func (c *Catalog) Now(now time.Time) time.Time { return c.timing.at(now) }

// Measure asks Redis for the time, so that there is a measurement though there is no
// sale to be read.
func (c *Catalog) Measure(ctx context.Context, redis interface {
	Time(ctx context.Context) (time.Time, error)
}) error {
	sent := c.Clock()
	at, err := redis.Time(ctx)
	if err != nil {
		return fmt.Errorf("cannot set the clock by redis: %w", err)
	}
	c.timing.learn(reading(at, sent, c.Clock()))
	return nil
}

// Lookup finds a sale by id without allocating; nil when there is none.
func (c *Catalog) Lookup(id []byte) *Sale { return (*c.sales.Load())[string(id)] }

// Find finds a sale by id; nil when there is none.
func (c *Catalog) Find(id string) *Sale { return (*c.sales.Load())[id] }

// Len is how many sales there are.
func (c *Catalog) Len() int { return len(*c.sales.Load()) }

// All returns the sales in order of their ids.
func (c *Catalog) All() []*Sale {
	m := *c.sales.Load()
	all := make([]*Sale, 0, len(m))
	for _, s := range m {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Sale) int { return cmp.Compare(a.id, b.id) })
	return all
}

// Apply takes an announced entry in, unless a newer one is known.
func (c *Catalog) Apply(e sale.Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := *c.sales.Load()
	if s, ok := old[e.ID]; ok {
		s.apply(e)
		c.want(s)
		return
	}
	next := make(map[string]*Sale, len(old)+1)
	for id, s := range old {
		next[id] = s
	}
	next[e.ID] = newSale(e, &c.timing)
	c.sales.Store(&next)
	c.want(next[e.ID])
}

// Forgotten has forget called with every sale that Forget drops from here on.
func (c *Catalog) Forgotten(forget func(*Sale)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten = append(c.forgotten, forget)
}

// Forget drops the sales that this gateway has known to be retired for longer than
// after, and whatever is kept of them elsewhere: the memory of a gateway must not grow
// with the sales there ever were.
func (c *Catalog) Forget(now time.Time, after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := *c.sales.Load()
	next := make(map[string]*Sale, len(old))
	var gone []*Sale
	for id, s := range old {
		if since := s.retiredAt.Load(); since != nil && now.Sub(*since) > after {
			gone = append(gone, s)
			continue
		}
		next[id] = s
	}
	if len(gone) == 0 {
		return
	}
	c.sales.Store(&next)
	for _, s := range gone {
		for _, forget := range c.forgotten {
			forget(s)
		}
	}
}

// Hear takes in a snapshot that another process broadcast.
func (c *Catalog) Hear(snap sale.Snapshot) {
	if s := c.Find(snap.SaleID); s != nil {
		s.hear(snap)
		c.want(s)
	}
}

// NotLive counts the sales that nobody can buy here because Redis does not hold the
// announced epoch, or it is being loaded.
func (c *Catalog) NotLive() (n int) {
	for _, s := range c.All() {
		if _, warm := s.Snapshot(); !warm && !s.Entry().Retired {
			n++
		}
	}
	return n
}
