package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/sale"
)

const (
	releaseUnits  = 100
	releaseAgain  = 37
	releaseBuyers = 4000
	// Gateways learn of a release at once by broadcast and within a second by
	// reading again; three times that on a busy machine.
	releaseWithin = 6 * time.Second
)

func TestRelease_ExactlyWhatCameBackIsSoldAgain(t *testing.T) {
	t.Parallel()
	deaf := []string{"SLUICE_FAILPOINTS=gateway.heard=error"}
	rare := []string{"SLUICE_REFRESH=1h"} // so that nothing but the broadcast can tell
	for name, env := range map[string]map[string][]string{
		"with the broadcast":         {"gateway-0": rare, "gateway-1": rare},
		"with the broadcast dropped": {"gateway-0": deaf, "gateway-1": deaf},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			s := openScene(ctx, t, releaseUnits, releaseBuyers, stack.Config{Gateways: 2, Workers: 1, FirstEnv: env})
			var winners, second record.Winners
			first := s.attackFrom(ctx, &winners, 0, 400, 400) // sells out
			if n := first[0] + first[1]; n != releaseUnits {
				t.Fatalf("%d accepted of %d units", n, releaseUnits)
			}
			s.rest(ctx, winners.Seen(), time.Minute)
			s.cancelOrders(ctx, releaseAgain)
			started := time.Now()
			again := s.attackFrom(ctx, &second, 400, int(releaseWithin/time.Second)*200, 200)
			if again[0]+again[1] != releaseAgain || again[0] == 0 || again[1] == 0 {
				t.Errorf("%v accepted by the gateways in %v after %d came back", again, time.Since(started), releaseAgain)
			}
			e := s.rest(ctx, second.Seen(), time.Minute)
			if e.Held != releaseUnits {
				t.Errorf("%d held", e.Held)
			}
		})
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

// cancelOrders does in Postgres what a cancellation does: n pending orders give
// their unit and slot back, each with its release row.
func (s *scene) cancelOrders(ctx context.Context, n int) {
	s.t.Helper()
	conn, err := pgx.Connect(ctx, s.stack.Info().Postgres.URL)
	s.must(err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
		WITH gone AS (
			UPDATE orders SET state = 'cancelled', shown_state = 'cancelled', holds_unit = false, holds_slot = false
			WHERE id IN (SELECT id FROM orders WHERE sale_id = $1 AND state = 'pending' ORDER BY id LIMIT $2)
			RETURNING id
		), stock AS (
			UPDATE sale_stock SET held = held - (SELECT count(*) FROM gone) WHERE sale_id = $1
		)
		INSERT INTO releases (rid, sale_id, status, reason, give) SELECT id, $1, 'cancelled', '', 1 FROM gone`, s.saleID, n)
	s.must(err)
}
