package chaos

import (
	"fmt"
	"time"

	"sluice/loadtest/internal/attack"
)

// Stages of a round whose latencies are held against each other.
const (
	quietStage = "quiet"
	slowStage  = "slow"
)

// stage is a time whose attempts are counted under a name.
type stage struct {
	name         string
	since, until time.Time // until is zero while it lasts
}

// stage has attempts that are sent from now on counted under a name; "" for none.
func (l *load) stage(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if n := len(l.stages); n > 0 {
		l.stages[n-1].until = now
	}
	l.stages = append(l.stages, stage{name: name, since: now})
}

// timed keeps how long an attempt took, faults and refusals too: it is what its buyer waited.
// It counts where it was sent, however late its answer is. A sender that was late itself is
// not the gateway's.
func (l *load) timed(buyer int, a attack.Answer) {
	if name := l.stageOf(a.Sent); name != "" {
		l.latencies.Add(stageAt(name, buyer%l.round.gateways()), time.Since(a.Sent))
	}
}

func (l *load) stageOf(sent time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.stages {
		if sent.After(s.since) && (s.until.IsZero() || !sent.After(s.until)) {
			return s.name
		}
	}
	return ""
}

// p99 of a stage at a gateway.
func (l *load) p99(name string, gateway int) time.Duration {
	return time.Duration(l.latencies.Summaries()[stageAt(name, gateway)].P99 * float64(time.Millisecond))
}

func stageAt(name string, gateway int) string { return fmt.Sprintf("%s at gateway-%d", name, gateway) }
