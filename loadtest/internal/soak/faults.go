package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/wait"
	"sluice/shared/devstack"
)

var storeNames = []string{"redis", "nats", "postgres"}

const (
	faultEvery = time.Minute
	frozen     = 5 * time.Second
	slowFor    = 15 * time.Second
	slowBy     = 50 * time.Millisecond // every answer of a store
)

// fault is one thing that breaks. It is healed when do returns.
type fault struct {
	name string
	do   func(ctx context.Context, r *run) error
}

// faults are all there are, for a stack of so many gateways and workers.
func faults(gateways, workers int) []fault {
	var all []fault
	for i := range gateways {
		all = append(all, killed("gateway", i))
	}
	for i := range workers {
		all = append(all, killed("worker", i))
	}
	for _, store := range storeNames {
		all = append(all, restarted(store), cutOff(store), slowed(store))
	}
	return all
}

func killed(role string, i int) fault {
	return fault{fmt.Sprintf("%s-%d killed", role, i), func(ctx context.Context, r *run) error { return r.stack.Kill(ctx, role, i) }}
}

func restarted(store string) fault {
	return fault{store + " killed", func(ctx context.Context, r *run) error {
		return r.stack.Restart(ctx, store, (*devstack.Server).Kill, func(*devstack.Server) error { return nil })
	}}
}

func cutOff(store string) fault {
	return fault{store + " cut off", func(ctx context.Context, r *run) error {
		proxy := r.stack.Proxy(store)
		proxy.Freeze()
		defer proxy.Heal()
		wait.For(ctx, frozen)
		return nil
	}}
}

func slowed(store string) fault {
	return fault{store + " slow", func(ctx context.Context, r *run) error {
		proxy := r.stack.Proxy(store)
		proxy.Delay(slowBy)
		defer proxy.Heal()
		wait.For(ctx, slowFor)
		return nil
	}}
}

// due is a fault and when it is to come, since the attempts began.
type due struct {
	fault
	at time.Duration
}

// schedule draws a fault a minute: each comes once before any comes again, in the first half
// of its minute.
func (r *run) schedule(random *rand.Rand) (all []due) {
	var deck []fault
	for minute := time.Duration(0); minute+faultEvery/2 < r.Lasts; minute += faultEvery {
		if len(deck) == 0 {
			deck = faults(r.Gateways, r.Workers)
			random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		at := minute + 5*time.Second + time.Duration(random.Int64N(int64(faultEvery/2)))
		all, deck = append(all, due{deck[0], at}), deck[1:]
	}
	return all
}

// breakThings does as scheduled, one thing at a time. What was begun is healed though the
// time is over.
func (r *run) breakThings(ctx context.Context, all []due) {
	for _, d := range all {
		if !wait.For(ctx, time.Until(r.began.Add(d.at))) {
			return
		}
		r.say("%s", d.name)
		r.mu.Lock()
		r.marks = append(r.marks, report.Mark{T: time.Since(r.began).Seconds(), Text: d.name})
		r.mu.Unlock()
		if err := d.do(context.WithoutCancel(ctx), r); err != nil {
			r.fail("scenario", "%s: %v", d.name, err)
		}
	}
}
