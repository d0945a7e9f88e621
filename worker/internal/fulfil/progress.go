package fulfil

import (
	"context"
	"sync"
	"time"

	"sluice/shared/backlog"
	"sluice/shared/sale"
)

const (
	progressEvery = 250 * time.Millisecond
	ticksToForce  = 4 // progress is told and re-read at least this often, changed or not
)

// snapshots read a sale's state.
type snapshots interface {
	Snapshot(ctx context.Context, saleID string, epoch int64) (sale.Snapshot, sale.HandOff, error)
}

// progressHints tell subscribers how far a sale has been served.
type progressHints interface {
	NotifyProgress(p sale.Progress) error
}

// progress tells how far one sale has been served: four times a second while
// that changes, once a second otherwise. Every script reply of this worker
// moves it; what other workers serve is read once a second.
type progress struct {
	saleID string
	worker string
	epoch  func() int64   // of the catalogue
	share  func() float64 // orders a second that this worker could make for the sale
	stock  snapshots
	hints  progressHints
	looks  places

	mu      sync.Mutex
	current sale.Progress // Epoch 0 until something was read
}

func newProgress(w *saleWorker) *progress {
	return &progress{
		saleID: w.saleID, worker: w.worker, epoch: w.epoch, share: func() float64 { return w.pacer.ShareOf(w.saleID) },
		stock: w.stores.Stock, hints: w.stores.Hints, looks: w.looks, current: sale.Progress{SaleID: w.saleID, Worker: w.worker},
	}
}

// observe takes the count of a script's reply. Replies may come out of order.
func (p *progress) observe(s sale.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case s.Epoch > p.current.Epoch:
		p.current.Epoch, p.current.Served = s.Epoch, s.Served
	case s.Epoch == p.current.Epoch:
		p.current.Served = max(p.current.Served, s.Served)
	}
}

func (p *progress) read() sale.Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

func (p *progress) run(ctx context.Context) {
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	var rate backlog.Meter
	var told sale.Progress
	for tick := 0; ; tick++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		force := tick%ticksToForce == 0
		if force {
			p.refresh(ctx)
		}
		now := p.read()
		if now.Epoch == 0 {
			continue
		}
		now.RatePerSecond, _ = rate.Add(time.Now(), now.Epoch, now.Served)
		now.Pace = p.share()
		if force || now.Epoch != told.Epoch || now.Served != told.Served {
			// A lost hint is made good by the next, at most a second later.
			_ = p.hints.NotifyProgress(now)
			told = now
		}
	}
}

// refresh reads the count. Whatever fails is tried again in a second, and so is what
// finds no place: what is known is told meanwhile.
func (p *progress) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_ = p.looks.look(ctx, func(ctx context.Context) error {
		s, _, err := p.stock.Snapshot(ctx, p.saleID, p.epoch())
		if err == nil {
			p.observe(s)
		}
		return err
	})
}
