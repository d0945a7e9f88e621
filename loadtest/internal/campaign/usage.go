package campaign

import (
	"os"
	"runtime"
	"slices"
	"time"

	"sluice/loadtest/internal/stack"
	"sluice/loadtest/internal/usage"
)

// Usage is how many cores were busy on average while attempts were sent.
type Usage struct {
	CPUs    int     `json:"cpus"`
	Machine float64 `json:"machine"` // everything, the tool included
	Tool    float64 `json:"tool"`    // this process and its senders
	Stack   float64 `json:"stack"`   // gateways, workers and stores
	Seconds float64 `json:"seconds"` // on average over so many, from when the first attempt was due
}

// Others is what neither the tool nor the stack took.
func (u Usage) Others() float64 { return max(0, u.Machine-u.Tool-u.Stack) }

// Taken says that the machine was full, and much of it taken by others: then figures are
// those of what was left.
func (u Usage) Taken() bool { return u.full() && u.much(u.Others()) }

func (u Usage) full() bool              { return u.Machine >= fullyBusy*float64(u.CPUs) }
func (u Usage) much(cores float64) bool { return cores >= muchOf*float64(u.CPUs) }

// cpuSample is CPU time used up to a moment. What cannot be read counts as nothing.
type cpuSample struct {
	at      time.Time
	machine time.Duration
	tool    map[int]time.Duration // by process
	stack   map[int]time.Duration
}

func (r *run) sampleCPU() cpuSample {
	s := cpuSample{at: time.Now(), tool: make(map[int]time.Duration), stack: make(map[int]time.Duration)}
	s.machine, _ = usage.Machine()
	for _, pid := range append(r.pids(), os.Getpid()) {
		if used, err := usage.CPU(pid); err == nil {
			s.tool[pid] = used
		}
	}
	for _, pid := range r.stack() {
		if used, err := usage.Family(pid); err == nil {
			s.stack[pid] = used
		}
	}
	return s
}

// stack are the processes of the stack that are on this machine.
func (r *run) stack() (pids []int) {
	for _, g := range r.Stack.Gateways {
		pids = append(pids, g.PID)
	}
	for _, w := range r.Stack.Workers {
		pids = append(pids, w.PID)
	}
	for _, store := range []stack.StoreInfo{r.Stack.Redis, r.Stack.NATS, r.Stack.Postgres} {
		pids = append(pids, store.PIDs()...)
	}
	return slices.DeleteFunc(pids, func(pid int) bool { return pid == 0 })
}

func (s cpuSample) since(before cpuSample) Usage {
	took := max(s.at.Sub(before.at), time.Millisecond).Seconds()
	u := Usage{CPUs: runtime.NumCPU(), Seconds: took, Machine: (s.machine - before.machine).Seconds() / took}
	for pid, used := range s.tool {
		u.Tool += (used - before.tool[pid]).Seconds() / took
	}
	for pid, used := range s.stack {
		u.Stack += (used - before.stack[pid]).Seconds() / took
	}
	return u
}
