package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"sluice/loadtest/internal/loop"
	"sluice/loadtest/internal/usage"
)

const (
	freshName    = "polls_fresh"
	pollsName    = "polls"
	capacityName = "poll_capacity"
	pollingShare = "polling_share"
)

// polling measures what waiting buyers cost one gateway while the worker is halted:
// some read their ticket with a wait, the others are polled as told, first when
// they have just come and then, in rounds, when they have waited for a while. At
// the end the worker settles them all, which wakes those who wait.
func (b *bench) polling(ctx context.Context) error {
	if err := checkDescriptors(b.LongPolls); err != nil {
		return err
	}
	if err := b.worker.Halt(ctx); err != nil {
		return err
	}
	tickets, err := b.backlog(ctx, pollingSale, b.LongPolls+b.Polled)
	if err != nil {
		return err
	}
	g, f := b.Stack.Gateways[0], b.rounds[0]
	if f["gateway_mb_before_waiting"], err = usage.ResidentMB(g.PID); err != nil {
		return err
	}
	waited, polled := tickets[:b.LongPolls], tickets[b.LongPolls:]
	if err := b.told(ctx, freshName, polled, ticket.whenTold, f); err != nil {
		return err
	}
	waiting, err := b.wait(ctx, waited)
	if err != nil {
		return err
	}
	defer waiting.stop()
	if err := awaitGauge(ctx, g.OpsURL, "sluice_ticket_waiters", float64(b.LongPolls)); err != nil {
		return err
	}
	for _, f := range b.rounds {
		if err := b.pollingRound(ctx, polled, f); err != nil {
			return err
		}
	}
	if p, missed := missedOf(b.measuredRatios())[pollingShare]; missed {
		b.bounded[pollingShare] = true
		err := b.profiled(pollsName, fmt.Sprintf("%s is %s", pollingShare, p.Found()), func() error {
			return b.told(ctx, pollsName, polled, ticket.atRandom, make(figures))
		})
		if err != nil {
			return err
		}
	}
	if f["gateway_mb_waiting"], err = usage.ResidentMB(g.PID); err != nil {
		return err
	}
	return b.wake(ctx, waiting, polled, f)
}

// pollingRound measures the gateway's capacity for polls, and what polls as told
// need of it.
func (b *bench) pollingRound(ctx context.Context, polled []ticket, f figures) error {
	g := b.Stack.Gateways[0]
	_, err := b.measure(ctx, capacityName, f, loop.Load{
		URL: g.URL, Connections: b.Few, Want: http.StatusOK, Servers: []int{g.PID, b.Stack.Redis.PID},
		Request: func(into []byte, _ int) []byte { return b.read(into, polled[rand.IntN(len(polled))], "") },
	})
	if err != nil {
		return err
	}
	return b.told(ctx, pollsName, polled, ticket.atRandom, f)
}

// told measures polls as told for a while.
func (b *bench) told(ctx context.Context, name string, polled []ticket, first func(ticket) time.Duration, f figures) error {
	gateway := []int{b.Stack.Gateways[0].PID}
	before, err := loop.SampleCPU(gateway)
	if err != nil {
		return err
	}
	stop, err := b.watch(ctx, name, "gateway", b.Stack.Gateways[0].OpsURL, b.PollWindow)
	if err != nil {
		return err
	}
	seen, err := b.pollAsTold(ctx, polled, first, b.PollWindow)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	after, err := loop.SampleCPU(gateway)
	if err != nil {
		return err
	}
	b.took(name, seen.perSecond, f)
	f[p99(name)], f[name+"_late_p99_ms"] = seen.latency.P99, seen.late.P99
	f.use(name, after.Since(before))
	b.unwanted[name] += seen.unwanted
	return nil
}

// wake lets the worker settle every ticket, with the others polling on.
func (b *bench) wake(ctx context.Context, waiting *longPolls, polled []ticket, f figures) error {
	polling, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		_, err := b.pollAsTold(polling, polled, ticket.atRandom, drainPatience)
		done <- err
	}()
	began := time.Now()
	err := b.settled(ctx)
	settled := time.Since(began)
	if err == nil {
		err = waiting.join(ctx)
	}
	stop()
	if polled := <-done; err == nil {
		err = polled
	}
	if err != nil {
		return err
	}
	if err := b.judge(ctx); err != nil {
		return err
	}
	if f["gateway_mb_woken"], err = usage.ResidentMB(b.Stack.Gateways[0].PID); err != nil {
		return err
	}
	f["woken"], f["woken_unwanted_answers"] = float64(waiting.woken()), float64(waiting.unwanted())
	f["woken_first_ms"] = milliseconds(waiting.first().Sub(began))
	f["woken_last_ms"] = milliseconds(waiting.last().Sub(began))
	f["woken_all_settled_ms"] = milliseconds(settled)
	b.say("%d of %d long-polls woken, the last after %.0f ms; all %d tickets settled after %.0f ms",
		waiting.woken(), b.LongPolls, f["woken_last_ms"], b.LongPolls+b.Polled, f["woken_all_settled_ms"])
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// checkDescriptors fails when this process may not open that many connections. Go
// has raised the soft limit to the hard one, here and in the gateway.
func checkDescriptors(connections int) error {
	const others = 2000 // that are open for other things
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return fmt.Errorf("cannot count open files: %w", err)
	}
	limit, err := descriptorLimit()
	if err != nil {
		return err
	}
	if need := uint64(len(open) + connections + others); need > limit {
		return fmt.Errorf("%d long-polls need %d open files, the hard limit is %d: raise it with ulimit -Hn", connections, need, limit)
	}
	return nil
}
