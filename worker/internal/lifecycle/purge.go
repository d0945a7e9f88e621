package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"sluice/shared/service"
)

const (
	// purgesPerHorizon is how often the stream is looked at while a hand-over grows
	// as old as the horizon: what is kept longer than it must be is a share of this.
	purgesPerHorizon = 12
	usageEvery       = 5 * time.Second // between looks at how full the stream is
	purgeWithin      = 5 * time.Second // of one sale
)

// StreamUsage is how full the streams are. A cap of 0 or less is none.
type StreamUsage struct {
	Bytes, MaxBytes                 int64
	Messages                        map[string]int // hand-overs, by sale
	MaxMessagesPerSale              int64
	PaymentsBytes, PaymentsMaxBytes int64
}

// keptHandOvers are the hand-overs that the stream keeps.
type keptHandOvers interface {
	Usage(ctx context.Context) (StreamUsage, error)
	// PurgeAcknowledged removes what is acknowledged and was stored before a moment.
	PurgeAcknowledged(ctx context.Context, saleID string, before time.Time) (purged int, err error)
}

// Purging keeps the stream from filling up with hand-overs that nobody will ask for
// again: those that are acknowledged and older than the replay horizon, which is how
// much of its newest commits Postgres may lose and have them made again. It measures how
// near a cap is, of which an alert is made; at the cap the stream refuses, and never drops.
//
// Any number of workers may run it.
type Purging struct {
	horizon time.Duration
	stream  keptHandOvers
	metrics *Metrics
	log     *slog.Logger
	faults  service.Quiet
	purged  time.Time // when it was last purged
}

// NewPurging builds the loop.
func NewPurging(horizon time.Duration, stream keptHandOvers, m *Metrics, log *slog.Logger) *Purging {
	return &Purging{horizon: horizon, stream: stream, metrics: m, log: log}
}

// Run purges until ctx ends.
func (p *Purging) Run(ctx context.Context) {
	between := p.horizon / purgesPerHorizon
	ticker := time.NewTicker(max(min(between, usageEvery), 10*time.Millisecond))
	defer ticker.Stop()
	for {
		if err := p.round(ctx, between); err != nil && ctx.Err() == nil && p.faults.Allow() {
			p.log.Warn("stream not purged", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (p *Purging) round(ctx context.Context, between time.Duration) error {
	usage, err := p.look(ctx)
	if err != nil || time.Since(p.purged) < between {
		return err
	}
	p.purged = time.Now()
	var faults []error
	for _, saleID := range slices.Sorted(maps.Keys(usage.Messages)) {
		if ctx.Err() != nil {
			break
		}
		faults = append(faults, p.purge(ctx, saleID))
	}
	return errors.Join(faults...)
}

func (p *Purging) purge(ctx context.Context, saleID string) error {
	call, cancel := context.WithTimeout(ctx, purgeWithin)
	defer cancel()
	n, err := p.stream.PurgeAcknowledged(call, saleID, time.Now().Add(-p.horizon))
	if err != nil || n == 0 {
		return err
	}
	p.metrics.purged.Add(float64(n))
	p.log.Info("hand-overs purged", "sale", saleID, "hand_overs", n)
	return nil
}

// look reads how full the stream is, and measures it.
func (p *Purging) look(ctx context.Context) (StreamUsage, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	usage, err := p.stream.Usage(call)
	if err != nil {
		return usage, err
	}
	p.metrics.showUsage(usage)
	return usage, nil
}
