package chaos

import (
	"context"
	"time"

	"sluice/shared/jetqueue"
)

// publishInFlightWhenSwept: the sweeper cannot know that a gateway's hand-over is still to come.
func publishInFlightWhenSwept() Row {
	const least = 20 // reservations
	return Row{
		ID: "5", Name: "publish-in-flight-when-swept", Bound: 10 * time.Second, Stack: Needs{Proxied: true},
		Fault:  "what gateways publish is under way for so long that the sweeper hands the same reservations over before it arrives",
		Expect: "both arrive; one order each, and the stock moves once",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate/2); err != nil {
				return err
			}
			before, err := r.ofWorkers(ctx, sweptCounter)
			if err != nil {
				return err
			}
			proxy := r.stack.Proxy("nats")
			r.inject()
			proxy.HoldRequests(`"name":"sluice-gateway"`)
			defer proxy.Heal()
			err = r.until(ctx, hitPatience, "reservations are swept", func() bool {
				n, err := r.ofWorkers(ctx, sweptCounter)
				return err == nil && n >= before+least
			})
			if err != nil {
				return err
			}
			proxy.Heal()
			r.heal()
			if err := r.recovered(ctx); err != nil {
				return err
			}
			n, err := r.arrivedAgain(ctx)
			if n > 0 {
				r.hit(n, "%d reservations were handed over by the sweeper, and arrived from their gateways after that", n)
			}
			return err
		},
	}
}

const sweptCounter = "sluice_swept_total"

// arrivedAgain is how many reservations JetStream stored before the heal and again after it.
func (r *Round) arrivedAgain(ctx context.Context) (n int, err error) {
	js, hangUp, err := r.jetStream()
	if err != nil {
		return 0, err
	}
	defer hangUp()
	messages, err := r.handOvers(ctx, js)
	if err != nil {
		return 0, err
	}
	before := make(map[string]bool)
	for _, m := range messages {
		h, err := jetqueue.Decode(m.Header, m.Subject, m.Data)
		if err != nil {
			return 0, err
		}
		for _, reserved := range h.Reservations {
			switch {
			case m.Time.Before(r.healed):
				before[reserved.RID] = true
			case before[reserved.RID]:
				n++
			}
		}
	}
	return n, nil
}
