package demo

import (
	"context"
	"sync"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/shared/sale"
)

const progressEvery = time.Second

// attack sends the whole crowd, with every winner polling beside it, and returns
// when the last ticket has its outcome or the time is up.
func (r *run) attack(ctx context.Context) attack.Lateness {
	attacker := attack.New(attack.Config{Connections: connections, Timeout: answerTimeout})
	defer attacker.Close()
	polling, stopPolling := context.WithCancel(ctx)
	defer stopPolling()
	stopProgress := r.progress()
	defer stopProgress()

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

// won follows a ticket until it has an outcome. A ticket that another of the
// buyer's clicks already brought is followed by that one.
func (r *run) won(ctx context.Context, at attempt, a attack.Answer) {
	rid, err := attack.RID(a.Ticket.Ticket)
	if err != nil {
		r.tally.outcome(err)
		return
	}
	ticket := a.Ticket
	accepted := a.Outcome == sale.Accepted.String() || a.Outcome == sale.Confirmed.String()
	if !r.tally.winners.Answer(at.buyer, ticket.Ticket, rid, accepted, ticket.Status) {
		return
	}
	seen := func(status sale.Status, took time.Duration) {
		r.tally.winners.Status(rid, status)
		r.tally.latencies.Add(classTicket, took)
	}
	r.tally.outcome(r.buyers.AwaitOutcome(ctx, r.Gateways[at.gateway].URL, r.tokens[at.buyer], ticket, seen))
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
