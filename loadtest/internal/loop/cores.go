package loop

import (
	"context"
	"os"
	"time"

	"sluice/loadtest/internal/usage"
)

// Cores are how many cores were used, on average, by the client, by the servers that
// a load counts, and by everything else on the machine.
type Cores struct{ Client, Servers, Others float64 }

// CPUSample is CPU time used up to a moment.
type CPUSample struct {
	at                    time.Time
	client, servers, busy time.Duration
}

// SampleCPU reads what this process, servers and the machine have used.
func SampleCPU(servers []int) (s CPUSample, err error) {
	s.at = time.Now()
	if s.client, err = usage.CPU(os.Getpid()); err != nil {
		return s, err
	}
	for _, pid := range servers {
		used, err := usage.CPU(pid)
		if err != nil {
			return s, err
		}
		s.servers += used
	}
	s.busy, err = usage.Machine()
	return s, err
}

// Since is what was used between two samples.
func (s CPUSample) Since(before CPUSample) Cores {
	took := s.at.Sub(before.at).Seconds()
	c := Cores{Client: (s.client - before.client).Seconds() / took, Servers: (s.servers - before.servers).Seconds() / took}
	c.Others = max(0, (s.busy-before.busy).Seconds()/took-c.Client-c.Servers)
	return c
}

// watchCPU measures from the end of the warm-up to the load's end, or until all
// was sent.
func (r *loadRun) watchCPU(ctx context.Context, sent <-chan struct{}) (Cores, error) {
	if !until(ctx, r.from, sent) {
		return Cores{}, nil
	}
	before, err := SampleCPU(r.Servers)
	if err != nil {
		return Cores{}, err
	}
	until(ctx, r.to, sent)
	after, err := SampleCPU(r.Servers)
	return after.Since(before), err
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
