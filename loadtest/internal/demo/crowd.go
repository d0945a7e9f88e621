package demo

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/loadtest/internal/pacer"
)

// Sizes of the demonstration. Its attempts are exactly the early ones, the clicks
// of the opening and the storm.
const (
	Units    = 1000
	Buyers   = 20_000
	Attempts = 60_000

	earlyAttempts = 2000
	clickers      = Buyers / 5 // buyers who click more than once
	clicks        = 5          // at once
	opening       = clickers*clicks + (Buyers - clickers)
	storm         = Attempts - earlyAttempts - opening
)

// Rates of the pacer, in attempts a second: what two cores bear that also run the
// gateways, the stores and the buyers.
const (
	earlyRate   = 1000
	openingRate = 4000
	stormRate   = 6000
)

// Around the opening nobody attempts, so that early attempts are early and the
// others are not, whatever the network does.
const openingGap = 300 * time.Millisecond

// attempt of one buyer at one gateway.
type attempt struct {
	buyer   int
	gateway int
	due     time.Duration // since the crowd's start
}

// crowd is who attempts when. The same seed is the same crowd.
type crowd struct {
	attempts []attempt
	opensAt  time.Duration // since the crowd's start
}

// gather makes the crowd for a number of gateways.
func gather(gateways int, seed uint64) crowd {
	random := rand.New(rand.NewPCG(seed, 0))
	c := crowd{attempts: make([]attempt, 0, Attempts)}
	c.comeEarly(gateways, random)
	c.rushIn(gateways, random)
	c.stormOn(gateways, random)
	return c
}

// comeEarly adds buyers that cannot wait.
func (c *crowd) comeEarly(gateways int, random *rand.Rand) {
	pace := pacer.Constant(earlyRate, earlyAttempts)
	for i, buyer := range random.Perm(Buyers)[:earlyAttempts] {
		c.attempts = append(c.attempts, attempt{buyer: buyer, gateway: random.IntN(gateways), due: pace.Due(i)})
	}
	c.opensAt = pace.Duration() + openingGap
}

// rushIn adds every buyer once, in any order, a fifth of them with all their
// clicks at the same moment: every other of these over all gateways, the rest at
// one.
func (c *crowd) rushIn(gateways int, random *rand.Rand) {
	pace := pacer.Constant(openingRate, opening)
	start, sent := c.opensAt+openingGap, 0
	for _, buyer := range random.Perm(Buyers) {
		times := 1
		if buyer < clickers {
			times = clicks
		}
		gateway, due := random.IntN(gateways), start+pace.Due(sent)
		for click := range times {
			at := gateway
			if buyer%2 == 0 {
				at = (gateway + click) % gateways
			}
			c.attempts = append(c.attempts, attempt{buyer: buyer, gateway: at, due: due})
		}
		sent += times
	}
}

// stormOn adds buyers that try again on what is sold out by then.
func (c *crowd) stormOn(gateways int, random *rand.Rand) {
	pace := pacer.Constant(stormRate, storm)
	start := c.opensAt + openingGap + pacer.Constant(openingRate, opening).Duration()
	for i := range storm {
		c.attempts = append(c.attempts, attempt{buyer: random.IntN(Buyers), gateway: random.IntN(gateways), due: start + pace.Due(i)})
	}
}

// userID names a buyer.
func userID(buyer int) string { return fmt.Sprintf("buyer-%05d", buyer) }
