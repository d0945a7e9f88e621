package collect

import (
	"context"
	"math"
	"time"

	"sluice/loadtest/internal/report"
	"sluice/shared/sale"
)

// Timeline calls keep with a sample of the sale's numbers in Redis at once, then
// every so often until ctx ends, and a last time then. A sample's T counts from
// origin. A moment at which Redis or, after a rebuild, Postgres cannot be read is
// left out. Nobody else may use the stores meanwhile.
func (s *Stores) Timeline(ctx context.Context, saleID string, origin time.Time, every time.Duration, keep func(report.Sample)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	reader := timelineReader{stores: s, saleID: saleID, origin: origin}
	for {
		if sample, ok := reader.sample(context.WithoutCancel(ctx)); ok {
			keep(sample)
		}
		if ctx.Err() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// sampleTimeout bounds one sample: one that comes much later shows nothing.
const sampleTimeout = time.Second

type timelineReader struct {
	stores *Stores
	saleID string
	origin time.Time
	epoch  int64 // 0 until known, and after it proved wrong
}

func (r *timelineReader) sample(ctx context.Context) (report.Sample, bool) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	if r.epoch == 0 {
		entry, err := r.stores.Postgres.Entry(ctx, r.saleID)
		if err != nil {
			return report.Sample{}, false
		}
		r.epoch = entry.Epoch
	}
	snap, handOff, err := r.stores.Redis.Snapshot(ctx, r.saleID, r.epoch)
	if err != nil {
		r.epoch = 0
		return report.Sample{}, false
	}
	return sampleOf(time.Since(r.origin), snap, handOff), true
}

func sampleOf(at time.Duration, snap sale.Snapshot, handOff sale.HandOff) report.Sample {
	return report.Sample{
		T:     math.Round(at.Seconds()*1000) / 1000,
		Stock: snap.Stock, Accepted: snap.Rank, Served: snap.Served, HandOff: handOff.Count,
	}
}
