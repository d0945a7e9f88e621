package capacity

import "math"

// Busy is how many servers a rate keeps busy, by the utilisation law.
func Busy(perSecond, seconds float64) float64 { return perSecond * seconds }

// Servers is the least number of servers, at least one, of which none is busy for more than a
// part of the time.
func Servers(busy, utilisation float64) int { return max(1, int(math.Ceil(busy/utilisation-1e-9))) }

// waits is Erlang's C: the part of those who come that find all servers of an M/M/c queue busy.
func waits(busy float64, servers int) float64 {
	if busy >= float64(servers) {
		return 1
	}
	blocked := 1.0 // Erlang's B, by its recursion, which does not overflow
	for k := 1; k <= servers; k++ {
		blocked = busy * blocked / (float64(k) + busy*blocked)
	}
	used := busy / float64(servers)
	return blocked / (1 - used + used*blocked)
}

// WaitMMc is the mean wait, in seconds, before one of several servers is free, if those who
// come know nothing of each other and times of service are spread exponentially. It is
// infinite where they come faster than they are served.
func WaitMMc(perSecond, seconds float64, servers int) float64 {
	busy := Busy(perSecond, seconds)
	if busy >= float64(servers) {
		return math.Inf(1)
	}
	return waits(busy, servers) * seconds / (float64(servers) - busy)
}

// WaitMG1 is the mean wait, in seconds, for one server whose times of service have the given
// squared coefficient of variation: 0 if all are alike, 1 if exponential.
func WaitMG1(perSecond, seconds, variation float64) float64 {
	used := Busy(perSecond, seconds)
	if used >= 1 {
		return math.Inf(1)
	}
	return used * seconds * (1 + variation) / (2 * (1 - used))
}
