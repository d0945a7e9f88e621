package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
	"sluice/shared/redisstock"
)

func TestTimeline_FollowsTheSaleIntoItsNextEpoch(t *testing.T) {
	t.Parallel()
	s := sell(t)
	ctx, cancel := context.WithTimeout(t.Context(), testPatience)
	defer cancel()
	stores, err := collect.Open(ctx, s.urls, slog.New(slog.DiscardHandler))
	must(t, err)
	defer stores.Close()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	samples, ended := make(chan report.Sample), make(chan struct{})
	go func() {
		defer close(ended)
		stores.Timeline(watching, s.id, time.Now(), time.Millisecond, func(sample report.Sample) {
			select {
			case samples <- sample:
			case <-ctx.Done():
			}
		})
	}()
	receive := func() (sample report.Sample) {
		t.Helper()
		select {
		case sample = <-samples:
		case <-ctx.Done():
			t.Fatal("no sample in time")
		}
		return sample
	}
	first := receive()
	if first.Stock != 1 || first.Accepted != 2 || first.Served != 2 {
		t.Errorf("first sample %+v", first)
	}
	s.nextEpoch(ctx, t)
	last := first
	for last.Stock != 77 {
		next := receive()
		if next.T < last.T {
			t.Fatalf("sample %+v after %+v", next, last)
		}
		last = next
	}
	stop()
	for waiting := true; waiting; {
		select {
		case <-samples:
		case <-ended:
			waiting = false
		}
	}
}

// nextEpoch loads the sale again, with another stock, as a rebuild does.
func (s *soldSale) nextEpoch(ctx context.Context, t *testing.T) {
	t.Helper()
	stores, err := collect.Open(ctx, s.urls, slog.New(slog.DiscardHandler))
	must(t, err)
	defer stores.Close()
	entry, err := stores.Postgres.BeginLoad(ctx, s.id, 0)
	must(t, err)
	must(t, s.stock.Fence(ctx, s.id, entry.Epoch, "again"))
	must(t, s.stock.Flip(ctx, "again", redisstock.Live{Entry: entry, Total: 77, Stock: 77}))
	_, err = stores.Postgres.FinishLoad(ctx, s.id, entry.Epoch)
	must(t, err)
}
