package bench

import (
	"context"
	"strconv"
)

// One by one, calls must overlap or nothing would happen while one is under way. A call
// is in flight until its message is acknowledged; with 128, 256 or 512 of them no more
// attempts were accepted by 512 connections.
const (
	oneByOneInFlight = 64
	oneByOnePool     = 2 * oneByOneInFlight // connections to Redis: reserve calls, and the strikes off the hand-off list
)

// OneByOne is the environment of a gateway that makes a reserve call and publishes
// a message for each attempt.
func OneByOne() []string {
	return []string{
		"SLUICE_RESERVE_BATCH=1",
		"SLUICE_RESERVE_IN_FLIGHT=" + strconv.Itoa(oneByOneInFlight),
		"SLUICE_REDIS_POOL=" + strconv.Itoa(oneByOnePool),
	}
}

func oneByOneName(w width) string { return "one_by_one" + w.name }

// oneByOne measures durable acceptance at that gateway, on the same stores.
func (b *bench) oneByOne(w width) scenario {
	return func(ctx context.Context, round int, f figures) error {
		return b.acceptAt(ctx, b.Stack.Gateways[1], oneByOneName(w), w, round, f)
	}
}
