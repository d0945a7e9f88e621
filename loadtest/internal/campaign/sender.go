package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/mix"
	"sluice/loadtest/internal/pacer"
	"sluice/loadtest/internal/usage"
	"sluice/shared/sale"
)

// SenderCommand is the argument that makes loadtest be a sender.
const SenderCommand = "attack-sender"

const (
	progressEvery = time.Second
	tokenTTL      = 24 * time.Hour // outlives every attack
)

// sender is one process's part of a campaign.
type sender struct {
	plan
	crowd     *mix.Crowd
	schedule  pacer.Schedule
	tokens    *mix.Tokens
	urls      [][]string // of orders, by gateway and sale
	tally     *tally
	winners   *winners
	followers *followers
}

// Send is what a sender process does: it reads its plan, says when it is ready, sends
// from the moment that it is told, and says what happened.
func Send(ctx context.Context, _ []string, _ func(string) string, stdout, _ io.Writer) error {
	orders := json.NewDecoder(os.Stdin)
	var p plan
	if err := orders.Decode(&p); err != nil {
		return fmt.Errorf("cannot read the plan: %w", err)
	}
	s, err := newSender(p)
	if err != nil {
		return err
	}
	says := &speaker{encoder: json.NewEncoder(stdout)}
	if err := says.say(message{Ready: true}); err != nil {
		return err
	}
	var begin start
	if err := orders.Decode(&begin); err != nil {
		return fmt.Errorf("cannot hear when to start: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // ends with its input
		_ = orders.Decode(&struct{}{}) // the end of stdin is the end of the sending
		stop()
	}()
	return s.run(ctx, begin.At, says)
}

// speaker says one message at a time.
type speaker struct {
	mu      sync.Mutex
	encoder *json.Encoder
}

func (s *speaker) say(m message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.encoder.Encode(m); err != nil {
		return fmt.Errorf("cannot tell what was sent: %w", err)
	}
	return nil
}

func newSender(p plan) (*sender, error) {
	sales := p.Mix.Expanded()
	s := &sender{plan: p, crowd: p.Mix.Crowd(), schedule: p.Arrivals.Schedule(), winners: newWinners(p.Winners)}
	var err error
	if s.tokens, err = mix.NewTokens([]byte(p.JWT.Key), p.JWT.Issuer, p.JWT.Audience, time.Now(), tokenTTL); err != nil {
		return nil, err
	}
	s.urls = make([][]string, len(p.Gateways))
	opensAt := make([]time.Time, len(sales))
	for i, one := range sales {
		opensAt[i] = p.OpensAt[one.ID]
		for g, url := range p.Gateways {
			s.urls[g] = append(s.urls[g], url+"/v1/sales/"+one.ID+"/orders")
		}
	}
	s.tally = newTally(opensAt, s.schedule.Steps())
	s.followers = newFollowers(p, &s.tally.latencies, s.winners)
	return s, nil
}

// run sends this sender's part and says what happened.
func (s *sender) run(ctx context.Context, at time.Time, says *speaker) error {
	attacker := attack.New(attack.Config{Connections: s.Connections, Timeout: s.Timeout})
	defer attacker.Close()
	// Tickets are followed on after a Ctrl-C: buyers are owed their outcomes.
	following, stopFollowing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopFollowing()
	// What could not be sent in time is not sent: the attack would have no end.
	ctx, cancel := context.WithDeadline(ctx, at.Add(s.schedule.Duration()+s.Timeout))
	defer cancel()
	quiet := s.tellProgress(says)
	late := attacker.Run(ctx, attack.Plan{
		Attempts: (s.schedule.Attempts() - s.Part + s.Parts - 1) / s.Parts, Start: at,
		Due:      func(k int) time.Duration { return s.schedule.Due(k*s.Parts + s.Part) },
		Shot:     func(k int) attack.Shot { return s.shot(s.number(k)) },
		Answered: func(k int, a attack.Answer) { s.answered(following, s.number(k), a) },
	})
	quiet()
	sent := s.progress()
	if err := says.say(message{Sent: &sent}); err != nil {
		return err
	}
	s.followers.end(stopFollowing, followPatient)
	return says.say(message{Result: s.result(late)})
}

// number of this sender's k-th attempt.
func (s *sender) number(k int) int { return s.First + k*s.Parts + s.Part }

// shot makes an attempt shortly before it is due, token included: one for each
// connection at most is made ahead.
func (s *sender) shot(number int) attack.Shot {
	a := s.crowd.At(number)
	return attack.Shot{URL: s.urls[s.gateway(number)][a.Sale], Token: s.token(a), Key: a.IdempotencyKey()}
}

func (s *sender) gateway(number int) int     { return s.crowd.Draw(number, len(s.Gateways)) }
func (s *sender) token(a mix.Attempt) string { return s.tokens.Token(s.crowd.UserID(a.User)) }

func (s *sender) answered(following context.Context, number int, a attack.Answer) {
	attempt := s.crowd.At(number)
	s.tally.answered(attempt, s.schedule.Step(number-s.First), a)
	if a.Ticket.Ticket == "" {
		return
	}
	rid, err := attack.RID(a.Ticket.Ticket)
	if err != nil {
		s.tally.faulty(err)
		return
	}
	id := uuid.MustParse(rid) // RID made it of 16 bytes
	accepted := a.Outcome == sale.Accepted.String() || a.Outcome == sale.Confirmed.String()
	if !s.winners.answer(id, attempt.Sale, accepted, a.Ticket.Status) {
		return
	}
	if follows, polling := s.crowd.Follows(number); follows {
		s.followers.follow(following, id, s.token(attempt), s.gateway(number), polling, a.Ticket)
	}
}

func (s *sender) progress() progress {
	p := s.tally.progress()
	p.Followed = s.followers.so().Outcomes
	return p
}

// tellProgress says each second how far the sender is, until it is told to be quiet.
func (s *sender) tellProgress(says *speaker) (quiet func()) {
	done := make(chan struct{})
	var teller sync.WaitGroup
	teller.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				p := s.progress()
				_ = says.say(message{Progress: &p}) // the result would fail as well
			}
		}
	})
	return func() {
		close(done)
		teller.Wait()
	}
}

func (s *sender) result(late attack.Lateness) *result {
	r := &result{progress: s.progress(), Latency: s.tally.latencies.Export(), Steps: s.tally.steps.Export(), StepBy: s.tally.stepBy, Late: late, Follows: s.followers.so()}
	r.Winners, r.Unrecorded = s.winners.all()
	// Unreadable on other systems: then it counts as nothing.
	if used, err := usage.CPU(os.Getpid()); err == nil {
		r.CPUSeconds = used.Seconds()
	}
	r.ResidentMB, _ = usage.ResidentMB(os.Getpid())
	return r
}
