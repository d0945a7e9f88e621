package console

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sluice/shared/sale"
	"sluice/shared/service"
)

const (
	lookEvery     = time.Second
	idleLooks     = 5 // ticks between two looks while no page is open
	salesEvery    = 3 * time.Second
	idleLists     = 5 // likewise of the list of sales
	listWithin    = 2 * time.Second
	redisWithin   = 800 * time.Millisecond // all sales together: a look must not delay the next
	readingAtOnce = 4                      // sales: the connections are for orders first
)

// watch reads the sources and tells the hub.
type watch struct {
	sources Sources
	hub     *hub
	log     *slog.Logger
	faults  service.Quiet
	sales   map[string]*tracked // of the loop that looks

	mu          sync.Mutex // what the loop that lists sales found
	standings   []sale.Standing
	standingsAt time.Time
}

func newWatch(s Sources, h *hub, log *slog.Logger) *watch {
	return &watch{sources: s, hub: h, log: log, sales: map[string]*tracked{}}
}

// run looks until ctx ends.
func (w *watch) run(ctx context.Context) {
	var loops sync.WaitGroup
	defer loops.Wait()
	w.readStandings(ctx) // a look before that would see no sales
	loops.Go(func() { w.listSales(ctx) })
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for tick := 0; ; tick++ {
		if w.hub.watched() || tick%idleLooks == 0 {
			w.look(ctx)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// listSales reads the list every so often; less often while no page is open.
func (w *watch) listSales(ctx context.Context) {
	ticker := time.NewTicker(salesEvery)
	defer ticker.Stop()
	for tick := 1; ; tick++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if w.hub.watched() || tick%idleLists == 0 {
			w.readStandings(ctx)
		}
	}
}

// readStandings reads the list; one that cannot be read stays, and pages say since when.
func (w *watch) readStandings(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, listWithin)
	defer cancel()
	all, err := w.sources.Sales.Standings(bounded, "")
	if err != nil {
		if ctx.Err() == nil && w.faults.Allow() {
			w.log.Warn("console cannot list the sales", "error", err)
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.standings, w.standingsAt = all, time.Now()
}

// look reads what changes fast and tells the pages.
func (w *watch) look(ctx context.Context) {
	f := &frame{Promise: w.sources.Promise.Seconds(), Gone: w.keepSales()}
	w.readRedis(ctx)
	now := time.Now()
	f.Now = now.UnixMilli()
	w.describe(now, f)
	w.hub.tell(now, f)
}

// keepSales takes the list that was last read; it returns the sales that left it. Those
// that are retired are no concern of whoever is on call.
func (w *watch) keepSales() (gone []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	listed := make(map[string]bool, len(w.standings))
	for _, st := range w.standings {
		if st.Retired {
			continue
		}
		listed[st.ID] = true
		t := w.sales[st.ID]
		if t == nil {
			t = &tracked{redis: redisNone, settling: unknown, taking: unknown}
			w.sales[st.ID] = t
		}
		t.standing = st
	}
	gone = []string{}
	for id := range w.sales {
		if !listed[id] {
			delete(w.sales, id)
			gone = append(gone, id)
		}
	}
	return gone
}

// readRedis reads every sale that was loaded. What a call does not answer in time stays as
// it was, and says so.
func (w *watch) readRedis(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, redisWithin)
	defer cancel()
	var reading errgroup.Group
	reading.SetLimit(readingAtOnce)
	for _, t := range w.sales {
		if t.standing.Epoch == 0 {
			continue
		}
		reading.Go(func() error {
			s, h, err := w.sources.Redis.Snapshot(ctx, t.standing.ID, t.standing.Epoch)
			t.read(time.Now(), s, h, err)
			return nil
		})
	}
	_ = reading.Wait() // each sale has its own error
}
