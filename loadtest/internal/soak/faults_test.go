package soak

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestSchedule_IsOneAMinuteAndEachComesBeforeAnyComesAgain(t *testing.T) {
	t.Parallel()
	r := &run{Config: Config{Lasts: 40 * time.Minute, Gateways: 2, Workers: 2}}
	planned := func(seed uint64) []due { return r.schedule(rand.New(rand.NewPCG(seed, 0))) }
	all, again, other := planned(1), planned(1), planned(2)
	if len(all) != 40 {
		t.Fatalf("%d faults in 40 minutes", len(all))
	}
	kinds := len(faults(2, 2))
	seen := make(map[string]int)
	same := 0
	for i, d := range all {
		if begin := time.Duration(i) * faultEvery; d.at < begin || d.at > begin+faultEvery*2/3 {
			t.Errorf("fault %d comes at %s", i, d.at)
		}
		if again[i].name != d.name || again[i].at != d.at {
			t.Errorf("the same seed breaks %s at %s, and %s at %s", d.name, d.at, again[i].name, again[i].at)
		}
		if other[i].name == d.name && other[i].at == d.at {
			same++
		}
		if seen[d.name]++; seen[d.name] > i/kinds+1 {
			t.Errorf("%s comes again before all others came: the %d-th fault", d.name, i)
		}
	}
	if len(seen) != kinds || same == len(all) {
		t.Errorf("%d kinds of %d; %d as with another seed", len(seen), kinds, same)
	}
}
