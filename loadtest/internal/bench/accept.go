package bench

import (
	"context"
	"net/http"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/stack"
)

func acceptName(w width) string  { return "accept" + w.name }
func runningName(w width) string { return "accept" + w.name + "_worker_running" }

// accept measures durable acceptance, token to 202, while the worker is halted.
func (b *bench) accept(w width) scenario {
	return func(ctx context.Context, round int, f figures) error {
		return b.acceptAt(ctx, b.Stack.Gateways[0], acceptName(w), w, round, f)
	}
}

// acceptRunning measures the same while the worker makes orders of what comes.
func (b *bench) acceptRunning(w width) scenario {
	return func(ctx context.Context, round int, f figures) error {
		if err := b.worker.Resume(); err != nil {
			return err
		}
		return b.acceptAt(ctx, b.Stack.Gateways[0], runningName(w), w, round, f)
	}
}

func (b *bench) acceptAt(ctx context.Context, g stack.GatewayInfo, name string, w width, round int, f figures) error {
	saleID := saleOf(name, round)
	m, err := b.measure(ctx, name, f, loop.Load{
		URL: g.URL, Connections: w.connections, Most: len(b.buyers), Request: b.buyers.Attempts(saleID), Want: http.StatusAccepted,
		Servers: []int{g.PID, b.Stack.Redis.PID, b.Stack.NATS.PID, b.worker.PID},
	})
	b.answered(saleID, m)
	return err
}
