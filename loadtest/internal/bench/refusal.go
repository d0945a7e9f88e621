package bench

import (
	"context"
	"fmt"
	"net/http"
)

const (
	refusalName     = "refusal"
	refusalHalfName = "refusal_half_rate"
	emptyHalfName   = "empty_half_rate"
)

// sellOut sells the one unit of the sale that is to be refused, and waits until
// the gateway knows.
func (b *bench) sellOut(ctx context.Context) error {
	address, err := addressOf(b.Stack.Gateways[0].URL)
	if err != nil {
		return err
	}
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.within(answerTimeout); err != nil {
		return err
	}
	next := b.buyers.attempts(soldOutSale)
	var status int
	for buyer := range b.buyers {
		if status, err = c.do(next(nil, buyer)); err != nil {
			return err
		}
		if status == http.StatusConflict {
			return nil
		}
	}
	return fmt.Errorf("sale %s does not sell out: last answer %d", soldOutSale, status)
}

// refusal measures the gateway's answer to attempts on a sold-out sale.
func (b *bench) refusal(ctx context.Context, _ int, f figures) error {
	_, err := b.measure(ctx, refusalName, f, b.refusalLoad(b.Many))
	return err
}

func (b *bench) refusalLoad(connections int) load {
	g := b.Stack.Gateways[0]
	return load{
		url: g.URL, connections: connections, request: b.buyers.attempts(soldOutSale), want: http.StatusConflict,
		servers: []int{g.PID},
	}
}

// halfRate measures latencies of both at half of what refusals reached in this
// round: at their top rate a closed loop measures its own queue.
func (b *bench) halfRate(ctx context.Context, _ int, f figures) error {
	rate := f[perSecond(refusalName)] / 2
	for _, half := range []struct {
		name string
		load load
	}{{emptyHalfName, b.emptyLoad(b.Few)}, {refusalHalfName, b.refusalLoad(b.Few)}} {
		half.load.perSecond = rate
		if _, err := b.measure(ctx, half.name, f, half.load); err != nil {
			return err
		}
	}
	return nil
}
