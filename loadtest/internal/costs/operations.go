package costs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/stack"
	"sluice/loadtest/internal/wait"
)

// Operations whose costs are noted.
const (
	opAccept  = "accept" // script and hand-over
	opOrder   = "order"
	opScript  = "script"
	opRefusal = "refusal"
	opPoll    = "poll"
)

const alone = 200 // attempts one after the other, for the time of one message

// operations measures each kind of operation at one gateway and one worker.
func (t *site) operations(ctx context.Context, f figures) error {
	for _, step := range []func(context.Context, figures) error{t.rest, t.accepts, t.scripts, t.polls} {
		if err := step(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// rest takes what a gateway and a worker use while nobody comes.
func (t *site) rest(ctx context.Context, f figures) error {
	before, err := t.read(ctx)
	if err != nil {
		return err
	}
	if !wait.For(ctx, t.Stage) {
		return ctx.Err()
	}
	after, err := t.read(ctx)
	if err != nil {
		return err
	}
	s := after.since(before)
	f["rest_cores"] = (s.cost[collect.Gateways] + s.cost[collect.Workers]) / s.seconds
	return nil
}

// accepts measures acceptance while the worker is halted, and then the orders of it.
func (t *site) accepts(ctx context.Context, f figures) (err error) {
	resume, err := stack.HaltAll(ctx, t.Info.Workers[0].PID)
	defer func() { err = errors.Join(err, resume()) }()
	if err != nil {
		return err
	}
	if err := t.messages(ctx, f); err != nil {
		return err
	}
	before, err := t.read(ctx)
	if err != nil {
		return err
	}
	m, err := t.send(ctx, t.crowd(t.Connections, t.Attempts))
	if err != nil {
		return err
	}
	queued, err := t.read(ctx)
	if err != nil {
		return err
	}
	s := queued.since(before)
	s.note(f, opAccept, m.Wanted)
	f["accept_together"] = s.together
	size, err := t.rowsSize(ctx)
	if err != nil {
		return err
	}
	orders := m.Wanted + alone
	if err := errors.Join(resume(), t.settle(ctx)); err != nil {
		return err
	}
	after, err := t.read(ctx)
	if err != nil {
		return err
	}
	after.since(queued).note(f, opOrder, orders)
	grown, err := t.rowsSize(ctx)
	f["bytes_per_order"] = (grown - size) / float64(orders)
	t.say("1 of each: %.0f accepts a second of %.0f in a call; a message alone takes %.2f ms; %d orders in %.2f s",
		m.PerSecond, s.together, 1000*f["message_seconds"], orders, after.since(queued).seconds)
	return err
}

// messages takes how long a hand-over takes while no other is under way.
func (t *site) messages(ctx context.Context, f figures) error {
	before, err := collect.ReadCalls(ctx, t.Info.Gateways[0].OpsURL, "hand_over")
	if err != nil {
		return err
	}
	if _, err := t.send(ctx, t.crowd(1, alone)); err != nil {
		return err
	}
	after, err := collect.ReadCalls(ctx, t.Info.Gateways[0].OpsURL, "hand_over")
	f["message_seconds"] = after.Since(before).Seconds.Mean()
	return err
}

// rowsSize is what Postgres keeps, in bytes.
func (t *site) rowsSize(ctx context.Context) (size float64, err error) {
	if err = t.Rows.DB.QueryRow(ctx, `SELECT pg_database_size(current_database())::float8`).Scan(&size); err != nil {
		return 0, fmt.Errorf("cannot read the size of the database: %w", err)
	}
	return size, nil
}

// scripts measures attempts that the script decides and nobody hands over: those of buyers
// who have bought.
func (t *site) scripts(ctx context.Context, f figures) error {
	return t.stage(ctx, f, opScript, t.load(t.Connections, http.StatusOK, func(into []byte, i int) []byte {
		p := t.bought[i%len(t.bought)]
		return t.attempt(into, p.sale, p.user)
	}))
}

// polls measures reads of tickets.
func (t *site) polls(ctx context.Context, f figures) error {
	return t.stage(ctx, f, opPoll, t.load(t.Connections, http.StatusOK, func(into []byte, i int) []byte {
		p := t.bought[i%t.tickets]
		into = append(into, "GET /v1/tickets/"...)
		into = append(into, p.ticket...)
		into = append(into, " HTTP/1.1\r\nHost: sluice\r\nAuthorization: Bearer "...)
		into = append(into, t.Tokens.Token(userNames+strconv.Itoa(p.user))...)
		return append(into, "\r\n\r\n"...)
	}))
}

// stage measures a closed loop for a while.
func (t *site) stage(ctx context.Context, f figures, operation string, l loop.Load) error {
	l.Measured = t.Stage
	before, err := t.read(ctx)
	if err != nil {
		return err
	}
	m, err := t.send(ctx, l)
	if err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	after, err := t.read(ctx)
	if err != nil {
		return err
	}
	s := after.since(before)
	s.note(f, operation, m.Wanted)
	f[figureOf(operation, "per_s")], f[figureOf(operation, "busy")] = m.PerSecond, s.busy()
	f[figureOf(operation, "cpu")], f[figureOf(operation, "others")] = s.all/float64(m.Wanted), s.others
	t.say("%d of each: %s %.0f a second, %.1f µs of the stack and the tool each, %.2f cores", t.size, operation, m.PerSecond, 1e6*f[figureOf(operation, "cpu")], s.busy())
	return nil
}
