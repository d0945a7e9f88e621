package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"sluice/loadtest/internal/attack"
	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/stack"
	"sluice/shared/client"
	"sluice/shared/devstack"
	"sluice/shared/sale"
)

// A crowd of buyers, each with one attempt, for half as many units, over as long
// as the kills take.
const (
	killUnits    = 600
	killBuyers   = 1200
	killRate     = 200 // attempts a second
	healPatience = 60 * time.Second
)

// killed is one sale under load during which processes die.
type killed struct {
	*scene
	winners record.Winners
	faults  sync.Map // buyer → true: attempts without an answer, or with an unknown outcome
}

// attackAll sends one attempt for every buyer, alternating between the gateways,
// until ctx ends.
func (k *killed) attackAll(ctx context.Context) {
	attacker := attack.New(attack.Config{Connections: 32, Timeout: 5 * time.Second})
	defer attacker.Close()
	attacker.Run(ctx, attack.Plan{
		Attempts: len(k.tokens), Start: time.Now(),
		Due: func(i int) time.Duration { return time.Duration(i) * time.Second / killRate },
		Shot: func(i int) attack.Shot {
			return attack.Shot{URL: k.orders(i), Token: k.tokens[i]}
		},
		Answered: k.answered,
	})
}

func (k *killed) answered(buyer int, a attack.Answer) {
	if a.Outcome == attack.OutcomeFault || a.Outcome == sale.Unavailable.String() {
		k.faults.Store(buyer, true)
	}
	if a.Ticket.Ticket == "" {
		return
	}
	rid, err := attack.RID(a.Ticket.Ticket)
	if err != nil {
		k.t.Error(err)
		return
	}
	k.winners.Answer(buyer, a.Ticket.Ticket, rid, a.Outcome == sale.Accepted.String(), a.Ticket.Status)
}

// judge waits until the sale is at rest and audits it with what buyers were told:
// every 202 has its outcome, nothing is stranded, the stores agree.
func (k *killed) judge(ctx context.Context) sale.Evidence {
	k.t.Helper()
	e := k.rest(ctx, k.winners.Seen(), healPatience)
	k.even(ctx)
	if n := len(k.winners.All()); n < killUnits/2 {
		k.t.Errorf("only %d of %d buyers were told of a reservation: the load missed the sale", n, len(k.tokens))
	}
	return e
}

// strandedBuyers asks, for every buyer whose attempt had no answer or an unknown
// one, for their tickets: whoever has an order finds it there, confirmed. It
// returns how many did.
func (k *killed) strandedBuyers(e sale.Evidence) int {
	k.t.Helper()
	orders := make(map[string]string, len(e.Orders)) // user → rid
	for _, o := range e.Orders {
		orders[o.UserID] = o.RID
	}
	buyers := attack.NewBuyers(4, 5*time.Second)
	defer buyers.Close()
	found := 0
	k.faults.Range(func(key, _ any) bool {
		buyer := key.(int)
		rid, has := orders[buyerID(buyer)]
		mine, err := k.ask(buyers, buyer)
		switch {
		case err != nil:
			k.t.Error(err)
		case has && (len(mine) != 1 || mine[0].Status != sale.StatusConfirmed):
			k.t.Errorf("buyer %d has order %s but these tickets: %v", buyer, rid, mine)
		case !has && len(mine) != 0:
			k.t.Errorf("buyer %d has no order but these tickets: %v", buyer, mine)
		case has:
			found++
		}
		return true
	})
	return found
}

// ask reads a buyer's tickets at the gateway that they did not attempt at.
func (k *killed) ask(buyers *attack.Buyers, buyer int) ([]client.Ticket, error) {
	c, err := buyers.Buyer(k.tokens[buyer], false, k.gateway(buyer+1))
	if err != nil {
		return nil, err
	}
	return c.MyTickets(k.t.Context(), k.saleID)
}

// pid of a process named like "gateway-0", as last started.
func (k *killed) pid(process string) int {
	info := k.stack.Info()
	pids := map[string]int{}
	for i, g := range info.Gateways {
		pids[fmt.Sprintf("gateway-%d", i)] = g.PID
	}
	for i, w := range info.Workers {
		pids[fmt.Sprintf("worker-%d", i)] = w.PID
	}
	return pids[process]
}

func killedAt(process, point string) map[string][]string {
	return map[string][]string{process: {"SLUICE_FAILPOINTS=" + point + "=kill@5"}}
}

// attackPast has all attempt while a process is killed at a point.
func (k *killed) attackPast(ctx context.Context, process, point string, buyersAffected bool) {
	k.t.Helper()
	before := k.pid(process)
	k.attackAll(ctx)
	e := k.judge(ctx)
	if after := k.pid(process); after == before || !k.logged(process, "failpoint "+point+": killed") {
		k.t.Errorf("%s was not killed at %s: the window was missed", process, point)
	}
	if found := k.strandedBuyers(e); buyersAffected && found == 0 {
		k.t.Errorf("no buyer lost a connection and found a ticket later: the window was missed")
	}
}

func TestKill_AtRandomLosesAndStrandsNothing(t *testing.T) {
	t.Parallel()
	kills := 10
	if devstack.Long() {
		kills = 50
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	// Enough units and buyers for a sale that goes on to the last kill.
	buyers := kills * killRate * 2
	k := &killed{scene: openScene(ctx, t, buyers, buyers, stack.Config{Gateways: 2, Workers: 2})}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	attacking, stop := context.WithCancel(ctx)
	defer stop()
	var attack sync.WaitGroup
	attack.Go(func() { k.attackAll(attacking) })
	for n := range kills {
		role := [...]string{"gateway", "worker"}[n%2] // in turn: of gateways buyers must notice
		if err := k.stack.Kill(ctx, role, random.IntN(2)); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond) // the moment of the next kill
	}
	if e := len(k.winners.All()); e >= buyers {
		t.Error("the attempts ended before the kills")
	}
	stop()
	attack.Wait()
	e := k.judge(ctx)
	found := k.strandedBuyers(e)
	t.Logf("%d kills, %d orders, %d buyers found their ticket after an unknown outcome", kills, len(e.Orders), found)
	affected := 0
	k.faults.Range(func(any, any) bool { affected++; return true })
	if affected == 0 {
		t.Error("no attempt met a fault: the kills missed the load")
	}
}
