package soak

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/orderrows"
)

const (
	capacitySale  = "soak-capacity"
	capacityTakes = 5 * time.Second // of attempts, as fast as answers come
	capacityUnits = 10_000_000      // more than that
	connections   = 64
)

// measureCapacity finds out how many attempts a second the stack takes all the way to their
// orders, unless it was told.
func (r *run) measureCapacity(ctx context.Context) error {
	if r.Capacity == 0 {
		r.say("measuring how many attempts a second the stack bears")
		if err := errors.Join(r.apply(ctx, capacitySale, capacityUnits, time.Now(), time.Minute), r.untilSold(ctx)); err != nil {
			return err
		}
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
		began := time.Now()
		m, err := l.Run(ctx)
		if err != nil {
			return err
		}
		if err := orderrows.Settled(ctx, r.stores, capacitySale); err != nil {
			return err
		}
		r.Capacity = float64(m.Wanted) / time.Since(began).Seconds()
	}
	r.perSecond = r.Capacity * load
	return nil
}
