package bench

import (
	"context"
	"fmt"
	"net/http"

	"sluice/loadtest/internal/loop"
)

const (
	refusalName     = "refusal"
	refusalHalfName = "refusal_half_rate"
	emptyHalfName   = "empty_half_rate"
	emptyAllocsName = "empty_allocating"
)

// sellOut sells the one unit of the sale that is to be refused, and waits until
// the gateway knows.
func (b *bench) sellOut(ctx context.Context) error {
	address, err := loop.AddressOf(b.Stack.Gateways[0].URL)
	if err != nil {
		return err
	}
	c, err := loop.Dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Within(loop.AnswerTimeout); err != nil {
		return err
	}
	next := b.buyers.Attempts(soldOutSale)
	var status int
	for buyer := range b.buyers {
		if status, err = c.Do(next(nil, buyer)); err != nil {
			return err
		}
		if status == http.StatusConflict {
			return nil
		}
	}
	return fmt.Errorf("sale %s does not sell out: last answer %d", soldOutSale, status)
}

// refusal measures the gateway's answer to attempts on a sold-out sale, and what it
// allocates for one beyond what an empty handler does for the same requests.
func (b *bench) refusal(ctx context.Context, _ int, f figures) error {
	gateway, err := b.allocating(ctx, refusalName, b.Stack.Gateways[0].OpsURL, f, b.refusalLoad(b.Many))
	if err != nil {
		return err
	}
	empty, err := b.allocating(ctx, emptyAllocsName, b.server.opsURL, f, b.emptyLoad(b.Many))
	f[allocsMore] = gateway - empty
	return err
}

func (b *bench) refusalLoad(connections int) loop.Load {
	g := b.Stack.Gateways[0]
	return loop.Load{
		URL: g.URL, Connections: connections, Request: b.buyers.Attempts(soldOutSale), Want: http.StatusConflict,
		Servers: []int{g.PID},
	}
}

// halfRate measures latencies of both at half of what refusals reached in this
// round: at their top rate a closed loop measures its own queue.
func (b *bench) halfRate(ctx context.Context, _ int, f figures) error {
	rate := f[perSecond(refusalName)] / 2
	for _, half := range []struct {
		name string
		load loop.Load
	}{{emptyHalfName, b.emptyLoad(b.Few)}, {refusalHalfName, b.refusalLoad(b.Few)}} {
		half.load.PerSecond = rate
		if _, err := b.measure(ctx, half.name, f, half.load); err != nil {
			return err
		}
	}
	return nil
}
