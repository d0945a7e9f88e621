package soak

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/orderrows"
	"sluice/loadtest/internal/wait"
)

const (
	capacitySale  = "soak-capacity"
	capacityTakes = 2 * time.Second // of attempts, as fast as answers come
	capacityUnits = 10_000_000      // more than that
	capacityHold  = time.Minute     // more than it takes to pay for them
	capacityLasts = 4 * time.Minute // until the last late payment is applied
	connections   = 64
	lookSoon      = 100 * time.Millisecond // counting is work, too
)

// measureCapacity finds out how many attempts a second the stack takes all the way, unless it
// was told: it divides orders by the time in which the stack is busy with them. That is until
// all have their rows, until those who pay in time have paid, from the last deadline until
// all others have expired, and until those who pay late have paid. Buyers pay and do not as in
// the soak; nobody polls.
func (r *run) measureCapacity(ctx context.Context) error {
	if r.Capacity == 0 {
		r.say("measuring how many attempts a second the stack bears, until they are paid or expired")
		ctx, cancel := context.WithTimeout(ctx, capacityLasts)
		defer cancel()
		if err := r.rehearse(ctx); err != nil {
			return fmt.Errorf("cannot measure what the stack bears: %w", err)
		}
	}
	r.perSecond = r.Capacity * load
	return nil
}

func (r *run) rehearse(ctx context.Context) error {
	table, err := orderrows.Open(ctx, r.stack.Info().Postgres.URL)
	if err != nil {
		return err
	}
	defer func() { _ = table.Close() }() // it only read
	if err := errors.Join(r.apply(ctx, capacitySale, capacityUnits, time.Now(), capacityLasts, capacityHold), r.untilSold(ctx)); err != nil {
		return err
	}
	began := time.Now()
	if err := r.takeAll(ctx); err != nil {
		return err
	}
	taken := time.Since(began)
	orders, err := table.Rows(ctx, capacitySale)
	if err != nil {
		return err
	}
	if len(orders) == 0 {
		return errors.New("no attempt became an order")
	}
	inTime, late := len(orders)*payInTime/100, len(orders)*payLate/100
	paid, err := r.payAll(ctx, table, orders[:inTime], inTime)
	if err != nil {
		return err
	}
	expired, err := r.expireAll(ctx, table, orders)
	if err != nil {
		return err
	}
	paidLate, err := r.payAll(ctx, table, orders[inTime:inTime+late], inTime+late)
	if err != nil {
		return err
	}
	busy := taken + paid + expired + paidLate
	r.Capacity = float64(len(orders)) / busy.Seconds()
	r.rehearsal = fmt.Sprintf("%d orders kept the stack busy for %.1f s: %.1f s until they were made, %.1f s until %d were paid, %.1f s until the others had expired, %.1f s until %d of those were paid late.",
		len(orders), busy.Seconds(), taken.Seconds(), paid.Seconds(), inTime, expired.Seconds(), paidLate.Seconds(), late)
	r.say("%s", r.rehearsal)
	return nil
}

// takeAll sends attempts, and waits until all have their orders.
func (r *run) takeAll(ctx context.Context) error {
	info := r.stack.Info()
	l := loop.Load{
		URL: info.Gateways[0].URL, Connections: connections, Want: http.StatusAccepted, Measured: capacityTakes,
		Request: func(into []byte, i int) []byte {
			into = append(into, "POST /v1/sales/"+capacitySale+"/orders HTTP/1.1\r\nHost: sluice\r\nContent-Length: 0\r\nAuthorization: Bearer "...)
			into = append(into, r.tokens.Token("first-"+strconv.Itoa(i))...)
			return append(into, "\r\n\r\n"...)
		},
	}
	for _, g := range info.Gateways[1:] {
		l.Also = append(l.Also, g.URL)
	}
	if _, err := l.Run(ctx); err != nil {
		return err
	}
	return orderrows.Settled(ctx, r.stores, capacitySale)
}

// payAll pays for orders, and says how long it took until so many orders of the sale were paid.
func (r *run) payAll(ctx context.Context, table orderrows.Table, orders []orderrows.Row, paid int) (time.Duration, error) {
	began := time.Now()
	group, call := errgroup.WithContext(ctx)
	group.SetLimit(payers)
	for i, o := range orders {
		group.Go(func() error { return r.report(call, i, uuid.UUID(o.ID).String()) })
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	err := untilCounted(ctx, table, "paid", func(n int) bool { return n >= paid })
	return time.Since(began), err
}

// expireAll says how long after the last deadline nobody was to pay any more.
func (r *run) expireAll(ctx context.Context, table orderrows.Table, orders []orderrows.Row) (time.Duration, error) {
	var last time.Time
	for _, o := range orders {
		if o.ExpiresAt.After(last) {
			last = o.ExpiresAt
		}
	}
	err := untilCounted(ctx, table, "pending", func(n int) bool { return n == 0 })
	return max(0, time.Since(last)), err
}

func untilCounted(ctx context.Context, table orderrows.Table, state string, enough func(n int) bool) error {
	for {
		n, err := table.Count(ctx, capacitySale, state)
		if err != nil {
			return err
		}
		if enough(n) {
			return nil
		}
		if !wait.For(ctx, lookSoon) {
			return fmt.Errorf("%d orders are %s: %w", n, state, ctx.Err())
		}
	}
}
