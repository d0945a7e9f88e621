package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
)

// dueOrders are the orders that are due, by sale; broken sales fail.
type dueOrders struct {
	left   map[string]int64
	broken map[string]bool
	calls  []string
}

func (d *dueOrders) DueSales(context.Context) ([]string, error) {
	return []string{"broken", "large", "small"}, nil
}

func (d *dueOrders) Expire(ctx context.Context, saleID string, limit int) (int64, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return 0, errors.New("called without a deadline")
	}
	d.calls = append(d.calls, saleID)
	if d.broken[saleID] {
		return 0, errors.New("broken")
	}
	n := min(d.left[saleID], int64(limit))
	d.left[saleID] -= n
	return n, nil
}

func TestExpiry_TakesTurnsAndOneSalesFaultDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	orders := &dueOrders{left: map[string]int64{"large": 2*expirePage + 1, "small": 3}, broken: map[string]bool{"broken": true}}
	released := 0
	e := NewExpiry(orders, time.Second, func() { released++ }, func(string) error { return nil },
		NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
	if err := e.scan(t.Context()); err == nil {
		t.Error("the fault is not told")
	}
	if diff := cmp.Diff([]string{"broken", "large", "small", "large", "large"}, orders.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if released != 4 {
		t.Errorf("released %d times, want once a page", released)
	}
}

func TestExpiry_ErrorAfterTheCommitLeavesTheReleaseToItsLoop(t *testing.T) {
	t.Parallel()
	orders := &dueOrders{left: map[string]int64{"small": 3}}
	e := NewExpiry(orders, time.Second, func() { t.Error("released") }, func(string) error { return errors.New("injected") },
		NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
	if err := e.scan(t.Context()); err == nil {
		t.Error("the fault is not told")
	}
}
