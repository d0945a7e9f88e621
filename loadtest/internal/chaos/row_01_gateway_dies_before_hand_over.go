package chaos

import (
	"context"
	"time"
)

// gatewayDiesBeforeHandOver: units are taken, and nobody but Redis knows.
func gatewayDiesBeforeHandOver() Row {
	return Row{
		ID: "1", Name: "gateway-dies-before-hand-over", Short: true, Bound: 10 * time.Second,
		Fault:  "a gateway is killed between taking units and handing their reservations over",
		Expect: "nobody was answered 202 for them; they are swept within 10 s, and their buyers find the same tickets",
		Run: func(ctx context.Context, r *Round) error {
			return r.killedAt(ctx, "gateway", r.random.IntN(2), "gateway.reserved", true)
		},
	}
}
