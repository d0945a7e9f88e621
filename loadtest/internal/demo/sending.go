package demo

import (
	"context"
	"sync"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/wait"
	"sluice/shared/client"
	"sluice/shared/sale"
)

const (
	progressEvery = time.Second
	sampleEvery   = 250 * time.Millisecond // of the stores, for the report's timeline
)

// watchAhead is how long before the first buyers the watching begins.
const watchAhead = 500 * time.Millisecond

// watched is attack with the stack's processes and workers watched meanwhile.
func (r *run) watched(ctx context.Context) (attack.Lateness, error) {
	wait.For(ctx, time.Until(r.start())-watchAhead)
	watcher, err := collect.Watch(ctx, collect.Watched{
		Stack: r.Stack, Name: "the sale", Text: "While the crowd came.", Origin: r.OpensAt,
	})
	if err != nil {
		return attack.Lateness{}, err
	}
	late := r.attack(ctx)
	r.seen = watcher.Stop(context.WithoutCancel(ctx), int64(late.Attempts))
	return late, nil
}

// attack sends the whole crowd, with every winner polling beside it, and returns
// when the last ticket has its outcome or the time is up.
func (r *run) attack(ctx context.Context) attack.Lateness {
	attacker := attack.New(attack.Config{Connections: connections, Timeout: answerTimeout})
	defer attacker.Close()
	polling, stopPolling := context.WithCancel(ctx)
	defer stopPolling()
	stopProgress := r.progress()
	defer stopProgress()
	stopWatching := r.watch(ctx)
	defer stopWatching()

	var winners sync.WaitGroup
	r.say("%d buyers, %d attempts, %d units; the sale opens at %s", Buyers, Attempts, Units, r.OpensAt.Format("15:04:05.0"))
	late := attacker.Run(ctx, attack.Plan{
		Attempts: len(r.crowd.attempts), Start: r.start(),
		Due:  func(i int) time.Duration { return r.crowd.attempts[i].due },
		Shot: r.shot,
		Answered: func(i int, a attack.Answer) {
			r.tally.answered(a)
			if a.Ticket.Ticket != "" {
				winners.Go(func() { r.won(polling, r.crowd.attempts[i], a) })
			}
		},
	})
	timer := time.AfterFunc(outcomePatient, stopPolling)
	defer timer.Stop()
	winners.Wait()
	return late
}

func (r *run) shot(i int) attack.Shot {
	a := r.crowd.attempts[i]
	return attack.Shot{URL: r.Gateways[a.gateway].URL + "/v1/sales/" + r.SaleID + "/orders", Token: r.tokens[a.buyer]}
}

// won follows a ticket until it has an outcome: every other buyer polls, the rest
// wait for news. A ticket that another of the buyer's clicks already brought is
// followed by that one.
func (r *run) won(ctx context.Context, at attempt, a attack.Answer) {
	rid, err := attack.RID(a.Ticket.Ticket)
	if err != nil {
		r.tally.outcome(err)
		return
	}
	accepted := a.Outcome == sale.Accepted.String() || a.Outcome == sale.Confirmed.String()
	if !r.tally.winners.Answer(at.buyer, a.Ticket.Ticket, rid, accepted, a.Ticket.Status) {
		return
	}
	class := classHeld
	polling := at.buyer%2 == 0
	if polling {
		class = classTicket
	}
	buyer, err := r.buyer(at.buyer, polling, at.gateway)
	if err != nil {
		r.tally.outcome(err)
		return
	}
	_, err = buyer.Follow(ctx, a.Ticket, func(t client.Ticket, took time.Duration) {
		r.tally.winners.Status(rid, t.Status)
		r.tally.latencies.Add(class, took)
	})
	r.tally.outcome(err)
}

// buyer is the client of one buyer, who asks that gateway first.
func (r *run) buyer(number int, polling bool, first int) (*client.Client, error) {
	urls := make([]string, len(r.Gateways))
	for i := range urls {
		urls[i] = r.Gateways[(first+i)%len(urls)].URL
	}
	return r.buyers.Buyer(r.tokens[number], polling, urls...)
}

// watch keeps the sale's timeline until it is stopped.
func (r *run) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		r.Stores.Timeline(ctx, r.SaleID, r.OpensAt, sampleEvery, func(s report.Sample) { r.timeline = append(r.timeline, s) })
	})
	return func() {
		cancel()
		watcher.Wait()
	}
}

// progress prints a line a second, while there is news, until it is stopped.
func (r *run) progress() (stop func()) {
	done := make(chan struct{})
	var printer sync.WaitGroup
	printer.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		said := r.tally.line()
		for running := true; running; {
			select {
			case <-done:
				running = false
			case <-tick.C:
			}
			if line := r.tally.line(); line != said {
				r.say("%s", line)
				said = line
			}
		}
	})
	return func() {
		close(done)
		printer.Wait()
	}
}
