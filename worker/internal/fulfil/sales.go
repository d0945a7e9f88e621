package fulfil

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"sluice/shared/sale"
)

// sales starts and stops the workers of sales as the catalogue changes. Only
// the goroutine that watches the catalogue uses it.
type sales struct {
	fulfilment *Fulfilment
	ctx        context.Context // ends when no more is to be pulled
	work       context.Context // ends when work in hand is to be dropped
	running    *sync.WaitGroup
	workers    map[string]*saleWorker
}

func (s *sales) changed(e sale.Entry) {
	w, known := s.workers[e.ID]
	switch {
	case known && e.Retired:
		w.stop()
		delete(s.workers, e.ID)
		s.fulfilment.serving.remove(w)
	case known:
		w.entry.Store(&e)
		s.fulfilment.pacer.Serve(e.ID, e.Weight)
	case e.Epoch > 0 && !e.Retired:
		w := s.start(e)
		s.workers[e.ID] = w
		s.fulfilment.serving.add(w)
	}
}

// serving lists the sales that are served, for other goroutines.
type serving struct {
	mu      sync.Mutex
	workers map[*saleWorker]struct{}
}

func (s *serving) add(w *saleWorker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.workers == nil {
		s.workers = make(map[*saleWorker]struct{})
	}
	s.workers[w] = struct{}{}
}

func (s *serving) remove(w *saleWorker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.workers, w)
}

func (s *serving) all() []*saleWorker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.workers))
}

// saleWorker is what the roles of one sale share.
type saleWorker struct {
	*Fulfilment
	saleID   string
	entry    atomic.Pointer[sale.Entry]
	progress *progress
	lost     *lost
	log      *slog.Logger
	stop     context.CancelFunc
}

func (s *sales) start(e sale.Entry) *saleWorker {
	ctx, stop := context.WithCancel(s.ctx)
	f := s.fulfilment
	w := &saleWorker{Fulfilment: f, saleID: e.ID, log: f.log.With("sale", e.ID), stop: stop}
	w.entry.Store(&e)
	f.pacer.Serve(e.ID, e.Weight)
	w.progress = newProgress(w)
	w.lost = newLost(w)
	keeper := newKeeper(f.cfg.AckWait)
	s.running.Go(func() { newConsumer(w, keeper).run(ctx, s.work) })
	s.running.Go(func() { keeper.run(s.work) })
	s.running.Go(func() { newSweeper(w).run(ctx) })
	s.running.Go(func() { w.lost.run(ctx) })
	s.running.Go(func() { w.progress.run(ctx) })
	w.log.Info("sale served", "epoch", e.Epoch)
	return w
}

func (w *saleWorker) epoch() int64 { return w.entry.Load().Epoch }
