package demo

import (
	"slices"
	"testing"
)

func TestGather_IsTheCrowdThatIsPromised(t *testing.T) {
	t.Parallel()
	c := gather(2, 1)
	if len(c.attempts) != Attempts {
		t.Fatalf("%d attempts, want %d", len(c.attempts), Attempts)
	}
	early, buyers := 0, make(map[int]bool)
	last := c.attempts[0].due
	for i, a := range c.attempts {
		if a.due < last {
			t.Fatalf("attempt %d is due before the one before it", i)
		}
		last = a.due
		buyers[a.buyer] = true
		if a.due < c.opensAt {
			early++
		}
	}
	if early != earlyAttempts || len(buyers) != Buyers {
		t.Errorf("%d early attempts, %d buyers", early, len(buyers))
	}
}

func TestGather_AFifthClicksFiveTimesAtOnceSomeOverBothGateways(t *testing.T) {
	t.Parallel()
	type moment struct{ buyer, due int }
	gateways := make(map[moment][]int)
	for _, a := range gather(2, 1).attempts {
		key := moment{a.buyer, int(a.due)}
		gateways[key] = append(gateways[key], a.gateway)
	}
	bursts, spread := 0, 0
	for _, at := range gateways {
		if len(at) != clicks {
			continue
		}
		bursts++
		if slices.Contains(at, 0) && slices.Contains(at, 1) {
			spread++
		}
	}
	if bursts != clickers || spread != clickers/2 {
		t.Errorf("%d bursts, %d over both gateways, want %d and %d", bursts, spread, clickers, clickers/2)
	}
}

func TestGather_SameSeedSameCrowd(t *testing.T) {
	t.Parallel()
	if !slices.Equal(gather(2, 7).attempts, gather(2, 7).attempts) {
		t.Error("two crowds of one seed differ")
	}
}
