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
	nearlyFull       = 0.8             // share of a cap from which somebody should look
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
// much of its newest commits Postgres may lose and have them made again. It warns
// before a cap is reached; the stream itself then refuses, and never drops.
//
// Any number of workers may run it.
type Purging struct {
	horizon time.Duration
	stream  keptHandOvers
	metrics *Metrics
	log     *slog.Logger
	faults  service.Quiet
	full    service.Quiet
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

// look reads how full the stream is, and says so when it is nearly full.
func (p *Purging) look(ctx context.Context) (StreamUsage, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	usage, err := p.stream.Usage(call)
	if err != nil {
		return usage, err
	}
	fullest, most := "", 0
	for saleID, n := range usage.Messages {
		if n > most || n == most && saleID < fullest {
			fullest, most = saleID, n
		}
	}
	bytes, messages := share(usage.Bytes, usage.MaxBytes), share(int64(most), usage.MaxMessagesPerSale)
	payments := share(usage.PaymentsBytes, usage.PaymentsMaxBytes)
	p.metrics.streamUsed.WithLabelValues(usedBytes).Set(bytes)
	p.metrics.streamUsed.WithLabelValues(usedMessages).Set(messages)
	p.metrics.streamUsed.WithLabelValues(usedPayments).Set(payments)
	if max(bytes, messages, payments) >= nearlyFull && p.full.Allow() {
		p.log.Error("stream is nearly full", "bytes", usage.Bytes, "max_bytes", usage.MaxBytes,
			"fullest_sale", fullest, "hand_overs", most, "max_hand_overs_per_sale", usage.MaxMessagesPerSale,
			"payments_bytes", usage.PaymentsBytes, "max_payments_bytes", usage.PaymentsMaxBytes)
	}
	return usage, nil
}

func share(used, limit int64) float64 {
	if limit <= 0 {
		return 0
	}
	return float64(used) / float64(limit)
}
