package costs

import (
	"context"
	"fmt"
	"net/http"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/wait"
)

// rushName is that of a rush over so many connections.
func rushName(connections int) string { return fmt.Sprintf("rush_%d", connections) }

// rush measures a crowd that is sold to while the workers make orders, until the last one.
func (t *site) rush(ctx context.Context, f figures, connections int) error {
	before, err := t.read(ctx)
	if err != nil {
		return err
	}
	m, err := t.send(ctx, t.crowd(connections, t.Attempts))
	if err != nil {
		return err
	}
	sold, err := t.read(ctx)
	if err != nil {
		return err
	}
	if err := t.settle(ctx); err != nil {
		return err
	}
	after, err := t.read(ctx)
	if err != nil {
		return err
	}
	name, while, until := rushName(connections), sold.since(before), after.since(before)
	until.note(f, name, m.Wanted)
	for figure, value := range map[string]float64{
		"per_s": m.PerSecond, "cpu": until.all / float64(m.Wanted), "until_last": until.seconds, "busy": while.busy(), "busy_all": until.busy(),
		"together": while.together, "others": until.others,
	} {
		f[figureOf(name, figure)] = value
	}
	t.say("%d of each: %d connections, %.0f accepts a second of %.0f in a call, %.1f µs each with its order; last order after %.2f s; %.2f cores, others %.2f",
		t.size, connections, m.PerSecond, while.together, 1e6*until.all/float64(m.Wanted), until.seconds, while.busy(), until.others)
	return nil
}

// refusals measures attempts of a sale that is sold out, once every gateway knows.
func (t *site) refusals(ctx context.Context, f figures) error {
	request := func(into []byte, i int) []byte { return t.attempt(into, lastSale, i%t.Connections) }
	if err := t.sellOut(ctx, request); err != nil {
		return err
	}
	return t.stage(ctx, f, opRefusal, t.load(t.Connections, http.StatusConflict, request))
}

// sellOut attempts at each gateway until it refuses.
func (t *site) sellOut(ctx context.Context, request func(into []byte, i int) []byte) error {
	for _, g := range t.Info.Gateways {
		address, err := loop.AddressOf(g.URL)
		if err != nil {
			return err
		}
		c, err := loop.Dial(ctx, address)
		if err != nil {
			return err
		}
		err = refused(ctx, c, request)
		c.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// refused attempts until a refusal comes.
func refused(ctx context.Context, c *loop.Connection, request func(into []byte, i int) []byte) error {
	if err := c.Within(loop.AnswerTimeout); err != nil {
		return err
	}
	const tries = 50
	for i := range tries {
		status, err := c.Do(request(nil, i))
		if err != nil {
			return err
		}
		if status == http.StatusConflict {
			return nil
		}
		if !wait.For(ctx, lookAgain) {
			return ctx.Err()
		}
	}
	return fmt.Errorf("sale %s does not sell out", lastSale)
}
