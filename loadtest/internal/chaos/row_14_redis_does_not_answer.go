package chaos

import (
	"context"
	"time"

	"sluice/shared/sale"
)

// redisDoesNotAnswer: a gateway that knows nothing must not say that there is nothing.
func redisDoesNotAnswer() Row {
	return Row{
		ID: "14", Name: "redis-does-not-answer", Short: true, Bound: 15 * time.Second, Stack: Needs{Proxied: true},
		Fault:  "nothing passes to or from Redis",
		Expect: "503, never sold out",
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			proxy, before := r.stack.Proxy("redis"), r.load.unknown.Load()
			r.inject()
			proxy.Freeze()
			defer proxy.Heal()
			frozen := r.journal.Now()
			err := r.until(ctx, hitPatience, "attempts are left without a certain answer", func() bool { return r.load.unknown.Load() >= before+100 })
			if err != nil {
				return err
			}
			r.wantUnavailable(frozen, r.journal.Now(), "Redis did not answer")
			proxy.Heal()
			r.heal()
			if err := r.recovered(ctx); err != nil {
				return err
			}
			// Whoever had taken silence for sold out would say so to all who came since.
			if n := r.load.answers(sale.SoldOut.String()); n > 0 {
				r.fail("I9", "%d attempts were told that a sale in stock is sold out", n)
			}
			return nil
		},
	}
}
