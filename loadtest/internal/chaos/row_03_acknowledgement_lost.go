package chaos

import (
	"context"
	"fmt"
	"time"
)

// acknowledgementLost: JetStream has the hand-over, and its gateway cannot know.
func acknowledgementLost() Row {
	return Row{
		ID: "3", Name: "acknowledgement-lost", Bound: 15 * time.Second, Stack: Needs{Proxied: true},
		Fault:  "what JetStream answers does not arrive",
		Expect: "503 with the ticket; it is handed over again by a repeated attempt or by the sweeper, and is one order",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, 2000, 150); err != nil {
				return err
			}
			proxy := r.stack.Proxy("nats")
			before := proxy.Lost()
			r.inject()
			proxy.LoseReplies()
			defer proxy.Heal()
			n, err := r.refused(ctx, 20)
			if err != nil {
				return err
			}
			if proxy.Lost() == before {
				return fmt.Errorf("%w an answer of JetStream was lost", errNot)
			}
			r.hit(int(n), "%d bytes of answers were lost, %d attempts were answered 503 with their tickets", proxy.Lost()-before, n)
			proxy.Heal()
			r.heal()
			return r.recovered(ctx)
		},
	}
}
