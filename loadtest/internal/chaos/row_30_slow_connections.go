package chaos

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sluice/loadtest/internal/slowclients"
	"sluice/loadtest/internal/wait"
)

const (
	slowAtATime   = 10_000
	slowAddresses = 200
	slowFiles     = slowAtATime + 1000 // that a process needs who has all of them, and its own

	quietFor       = 4 * time.Second
	slowClientsFor = 8 * time.Second // longer than any request may take that does not arrive

	mostSlower = 2 // times that honest attempts may take longer beside slow clients

	// alwaysFine is nobody's loss, however fast it is without them. Whoever had to wait until
	// slow ones are cut by time alone would wait for five seconds.
	alwaysFine = time.Second
)

// slowConnections: whoever says nothing holds nobody up.
func slowConnections() Row {
	return Row{
		ID: "30", Name: "slow-connections", Bound: 10 * time.Second, Also: "I12", Stack: Needs{Gateways: edgeSettings}, Files: slowFiles,
		Fault:  fmt.Sprintf("%d connections from %d addresses to one gateway say nothing, trickle their head or body, or do not read, and come again when they are cut", slowAtATime, slowAddresses),
		Expect: fmt.Sprintf("they are cut; the p99 of honest attempts at that gateway is at most %d times that without them, or %s", mostSlower, alwaysFine),
		Run: func(ctx context.Context, r *Round) error {
			if err := r.begin(ctx, killUnits, killRate); err != nil {
				return err
			}
			at := r.random.IntN(gateways)
			r.load.stage(quietStage)
			wait.For(ctx, quietFor)
			r.load.stage("")
			seen, err := r.beSlow(ctx, at)
			if err != nil {
				return err
			}
			r.heal()
			gone := seen.Cut()
			r.hit(gone, "%d slow connections stood at a time, %d were cut: %v", seen.Most, gone, seen.Ends)
			if seen.Most < slowAtATime*9/10 {
				r.fail("scenario", "only %d slow connections stood at a time", seen.Most)
			}
			if err := r.recovered(ctx); err != nil {
				return err
			}
			wait.For(ctx, answerTimeout) // whoever attempted beside slow clients has an answer by then, or none
			r.wantNotSlower(at)
			return nil
		},
	}
}

// beSlow has the slow clients at a gateway for a while.
func (r *Round) beSlow(ctx context.Context, at int) (seen slowclients.Tally, err error) {
	address, err := addressOf(r.gateway(at))
	if err != nil {
		return seen, err
	}
	r.inject()
	slow, err := slowclients.Start(filepath.Join(r.binDir, "loadtest"), slowclients.Attack{
		Address: address, Sale: r.saleID, Connections: slowAtATime, Addresses: slowAddresses, Within: slowClientsFor / 2})
	if err != nil {
		return seen, err
	}
	r.load.stage(slowStage)
	wait.For(ctx, slowClientsFor)
	r.load.stage("")
	return slow.Stop()
}

// wantNotSlower holds the latencies at a gateway against those before.
func (r *Round) wantNotSlower(at int) {
	quiet, slow := r.load.p99(quietStage, at), r.load.p99(slowStage, at)
	most := max(mostSlower*quiet, alwaysFine)
	beside := r.load.p99(slowStage, (at+1)%gateways) // how slow the machine was
	r.hit(0, "p99 of honest attempts there was %s, and %s before; %s at another gateway meanwhile",
		slow.Round(100*time.Microsecond), quiet.Round(100*time.Microsecond), beside.Round(100*time.Microsecond))
	if slow > slack*most {
		r.fail("I12", "p99 of honest attempts is %s beside slow clients, %s without; promised is %s", slow, quiet, most)
	}
}
