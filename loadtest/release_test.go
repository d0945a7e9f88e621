package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/sale"
)

const (
	releaseUnits  = 100
	releaseAgain  = 37
	releaseBuyers = 4000
	// Gateways learn of a release at once by broadcast; this is for a busy machine.
	releaseWithin = 6 * time.Second
)

func TestRelease_ExactlyWhatCameBackIsSoldAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	rare := []string{"SLUICE_REFRESH=1h"} // so that nothing but the broadcast can tell
	s := openScene(ctx, t, releaseUnits, releaseBuyers, stack.Config{Gateways: 2, Workers: 1, GatewaySettings: rare})
	var winners, second record.Winners
	first := s.attackFrom(ctx, &winners, 0, 400, 400) // sells out
	if n := first[0] + first[1]; n != releaseUnits {
		t.Fatalf("%d accepted of %d units", n, releaseUnits)
	}
	s.rest(ctx, winners.Seen(), time.Minute)
	started := time.Now()
	s.cancelOrders(ctx, winners.All()[:releaseAgain])
	// So slowly that one gateway cannot sell all before the other has heard.
	const perSecond = 40
	again := s.attackFrom(ctx, &second, 400, int(releaseWithin/time.Second)*perSecond, perSecond)
	if again[0]+again[1] != releaseAgain || again[0] == 0 || again[1] == 0 {
		t.Errorf("%v accepted by the gateways in %v after %d came back", again, time.Since(started), releaseAgain)
	}
	e := s.rest(ctx, second.Seen(), time.Minute)
	if e.Held != releaseUnits {
		t.Errorf("%d held", e.Held)
	}
}

// attackFrom sends one attempt of n buyers from the first, alternating between the
// gateways, and returns how many each of them accepted.
func (s *scene) attackFrom(ctx context.Context, winners *record.Winners, first, n, perSecond int) [2]int64 {
	attacker := attack.New(attack.Config{Connections: 16, Timeout: 5 * time.Second})
	defer attacker.Close()
	var accepted [2]atomic.Int64
	attacker.Run(ctx, attack.Plan{
		Attempts: n, Start: time.Now(),
		Due:  func(i int) time.Duration { return time.Duration(i) * time.Second / time.Duration(perSecond) },
		Shot: func(i int) attack.Shot { return attack.Shot{URL: s.orders(i), Token: s.tokens[first+i]} },
		Answered: func(i int, a attack.Answer) {
			if a.Outcome != sale.Accepted.String() {
				return
			}
			accepted[i%2].Add(1)
			rid, err := attack.RID(a.Ticket.Ticket)
			if err != nil {
				s.t.Error(err)
			}
			winners.Answer(first+i, a.Ticket.Ticket, rid, true, a.Ticket.Status)
		},
	})
	return [2]int64{accepted[0].Load(), accepted[1].Load()}
}

// cancelOrders cancels the orders of these winners, as their buyers do.
func (s *scene) cancelOrders(ctx context.Context, winners []record.Winner) {
	s.t.Helper()
	worker := s.stack.Info().Workers[0].URL
	for _, won := range winners {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, worker+"/v1/orders/"+won.RID+"/cancel", nil)
		s.must(err)
		req.Header.Set("Authorization", "Bearer "+s.tokens[won.Buyer])
		res, err := http.DefaultClient.Do(req)
		s.must(err)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			s.t.Errorf("cancelling order %s of buyer %d: %s", won.RID, won.Buyer, res.Status)
		}
	}
}
