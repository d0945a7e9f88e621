package bench

import (
	"context"
	"os"
	"time"
)

// cores are how many cores were used, on average, by the client, by the servers that
// a load counts, and by everything else on the machine.
type cores struct{ client, servers, others float64 }

// cpuSample is CPU time used up to a moment.
type cpuSample struct {
	at                    time.Time
	client, servers, busy time.Duration
}

func sampleCPU(servers []int) (s cpuSample, err error) {
	s.at = time.Now()
	if s.client, err = cpuTime(os.Getpid()); err != nil {
		return s, err
	}
	for _, pid := range servers {
		used, err := cpuTime(pid)
		if err != nil {
			return s, err
		}
		s.servers += used
	}
	s.busy, err = busyTime()
	return s, err
}

// since is what was used between two samples.
func (s cpuSample) since(before cpuSample) cores {
	took := s.at.Sub(before.at).Seconds()
	c := cores{client: (s.client - before.client).Seconds() / took, servers: (s.servers - before.servers).Seconds() / took}
	c.others = max(0, (s.busy-before.busy).Seconds()/took-c.client-c.servers)
	return c
}

// watchCPU measures from the end of the warm-up to the load's end, or until all
// was sent.
func (r *loadRun) watchCPU(ctx context.Context, sent <-chan struct{}) (cores, error) {
	if !until(ctx, r.from, sent) {
		return cores{}, nil
	}
	before, err := sampleCPU(r.servers)
	if err != nil {
		return cores{}, err
	}
	until(ctx, r.to, sent)
	after, err := sampleCPU(r.servers)
	return after.since(before), err
}

// until waits for a moment; false when ctx ended or over was closed before it.
func until(ctx context.Context, moment time.Time, over <-chan struct{}) bool {
	timer := time.NewTimer(time.Until(moment))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}
