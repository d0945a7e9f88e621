package compare

import "testing"

func TestTurns_EachSystemFollowsEveryOtherOnceAndHasEveryPlace(t *testing.T) {
	t.Parallel()
	const n = 4
	follows, places := make(map[[2]int]int), make(map[[2]int]int)
	for round := range n {
		order := turns(n, round)
		for k, system := range order {
			places[[2]int{system, k}]++
			if k > 0 {
				follows[[2]int{order[k-1], system}]++
			}
		}
	}
	if len(follows) != n*(n-1) || len(places) != n*n {
		t.Errorf("followed: %v, places: %v", follows, places)
	}
}
