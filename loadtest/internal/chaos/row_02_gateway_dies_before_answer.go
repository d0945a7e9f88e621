package chaos

import (
	"context"
	"time"
)

// gatewayDiesBeforeAnswer: what was handed over, nobody was told of.
func gatewayDiesBeforeAnswer() Row {
	return Row{
		ID: "2", Name: "gateway-dies-before-answer", Bound: 10 * time.Second,
		Fault:  "a gateway is killed after JetStream has acknowledged a hand-over, before its buyers are answered",
		Expect: "their attempts, repeated, and their tickets show the same reservations",
		Run: func(ctx context.Context, r *Round) error {
			return r.killedAt(ctx, "gateway", r.random.IntN(2), "gateway.handed_over", true)
		},
	}
}
