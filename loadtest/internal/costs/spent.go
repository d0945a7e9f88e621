package costs

import (
	"context"
	"os"
	"time"

	"sluice/loadtest/internal/capacity"
	"sluice/loadtest/internal/collect"
	"sluice/loadtest/internal/usage"
)

// reading is what everything had used at a moment.
type reading struct {
	at            time.Time
	kinds         collect.ByKind
	tool, machine time.Duration
	calls         collect.Calls // of the reserve script, by all gateways
}

func (t *site) read(ctx context.Context) (r reading, err error) {
	for _, g := range t.Info.Gateways {
		calls, err := collect.ReadCalls(ctx, g.OpsURL, "reserve")
		if err != nil {
			return r, err
		}
		r.calls = r.calls.Plus(calls)
	}
	if r.kinds, err = collect.UsedByKind(t.Info); err != nil {
		return r, err
	}
	if r.tool, err = usage.CPU(os.Getpid()); err != nil {
		return r, err
	}
	r.machine, err = usage.Machine()
	r.at = time.Now()
	return r, err
}

// spent is what was used between two readings.
type spent struct {
	seconds  float64
	cost     capacity.Cost // CPU seconds of all that was done
	all      float64       // those of the stack and the tool
	others   float64       // cores that everything else on the machine used
	together float64       // attempts in a call of the reserve script
}

func (r reading) since(before reading) spent {
	each, all := r.kinds.Since(before.kinds)
	s := spent{seconds: r.at.Sub(before.at).Seconds(), cost: make(capacity.Cost), together: r.calls.Since(before.calls).Size.Mean()}
	for kind, used := range each {
		s.cost[capacity.Kind(kind)] = used.Seconds()
	}
	tool := r.tool - before.tool
	s.cost[capacity.Tool] = tool.Seconds()
	s.all = (all + tool).Seconds()
	s.others = max(0, (r.machine-before.machine).Seconds()-s.all) / s.seconds
	return s
}

// busy is how many cores the stack and the tool kept busy.
func (s spent) busy() float64 { return s.all / s.seconds }

// note notes what one of n operations cost.
func (s spent) note(f figures, operation string, n int) {
	for kind, used := range s.cost {
		f[figureOf(operation, string(kind))] = used / float64(n)
	}
}
