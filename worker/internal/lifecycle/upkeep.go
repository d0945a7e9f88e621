package lifecycle

import (
	"context"
	"log/slog"
	"time"

	"sluice/shared/service"
)

const (
	upkeepEvery  = time.Second
	upkeepWithin = 5 * time.Second
)

// Standing tells one incarnation of the stream and the catalogue's bucket from another.
type Standing struct {
	Incarnation string // differs once one of them was made anew
	LastSeq     uint64 // of the stream; goes back only with an older copy
}

// keeper keeps the stream and the bucket: it makes them again if they are gone.
type keeper interface {
	Upkeep(ctx context.Context) (Standing, error)
}

// Upkeep keeps the stream and the catalogue's bucket while sales go on.
type Upkeep struct {
	poked   chan struct{}
	metrics *Metrics
	log     *slog.Logger
	faults  service.Quiet

	known     Standing // as of the last look
	suspected bool     // the connection was renewed since: even a higher sequence may be an older copy's
}

// NewUpkeep builds the loop.
func NewUpkeep(metrics *Metrics, log *slog.Logger) *Upkeep {
	return &Upkeep{poked: make(chan struct{}, 1), metrics: metrics, log: log}
}

// Poke says that the connection was renewed.
func (u *Upkeep) Poke() {
	select {
	case u.poked <- struct{}{}:
	default: // it will look anyway
	}
}

// Run looks once a second, and at once when poked, until ctx ends. changed is called
// when what is there may not be what was there before: new, or an older copy.
func (u *Upkeep) Run(ctx context.Context, k keeper, changed func()) {
	ticker := time.NewTicker(upkeepEvery)
	defer ticker.Stop()
	for {
		if err := u.look(ctx, k, changed); err != nil && ctx.Err() == nil && u.faults.Allow() {
			u.log.Warn("stream and bucket not looked after", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-u.poked:
			u.suspected = true
		case <-ticker.C:
		}
	}
}

func (u *Upkeep) look(ctx context.Context, k keeper, changed func()) error {
	ctx, cancel := context.WithTimeout(ctx, upkeepWithin)
	defer cancel()
	now, err := k.Upkeep(ctx)
	if err != nil {
		return err
	}
	first := u.known == Standing{}
	replaced := !first && (now.Incarnation != u.known.Incarnation || now.LastSeq < u.known.LastSeq)
	if replaced {
		u.metrics.replaced.Inc()
		u.log.Error("stream or bucket was replaced", "incarnation", now.Incarnation, "last_seq", now.LastSeq,
			"incarnation_before", u.known.Incarnation, "last_seq_before", u.known.LastSeq)
	}
	suspected := u.suspected
	u.known, u.suspected = now, false
	if replaced || suspected {
		changed()
	}
	return nil
}
