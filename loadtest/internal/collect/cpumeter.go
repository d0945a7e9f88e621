package collect

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/usage"
)

// running is a process that runs now under a name of the stack.
type running struct {
	name   string
	pid    int
	family bool // its children do its work
}

// used is its CPU time so far.
func (r running) used() (time.Duration, error) {
	if r.family {
		return usage.Family(r.pid)
	}
	return usage.CPU(r.pid)
}

// processes are the stack's, and those that send.
func (w Watched) processes() []running {
	info := w.Stack()
	var all []running
	for i, g := range info.Gateways {
		all = append(all, running{name: fmt.Sprintf("gateway-%d", i), pid: g.PID})
	}
	for i, worker := range info.Workers {
		all = append(all, running{name: fmt.Sprintf("worker-%d", i), pid: worker.PID})
	}
	for _, pid := range info.Redis.PIDs() {
		all = append(all, running{name: "redis", pid: pid})
	}
	for _, pid := range info.NATS.PIDs() {
		all = append(all, running{name: "nats", pid: pid})
	}
	for _, pid := range info.Postgres.PIDs() {
		all = append(all, running{name: "postgres", pid: pid, family: true})
	}
	all = append(all, running{name: report.ToolProcess, pid: os.Getpid()})
	if w.Tools != nil {
		for _, pid := range w.Tools() {
			all = append(all, running{name: report.ToolProcess, pid: pid})
		}
	}
	return slices.DeleteFunc(all, func(r running) bool { return r.pid == 0 }) // one that others run
}

// cpuMeter adds up CPU time by name: of a process, and of whatever takes its place.
type cpuMeter struct {
	began, last time.Time
	machine     [2]time.Duration // at first, and last
	names       []string         // in the order in which they came
	spans       map[running]*cpuSpan
}

// cpuSpan is what a process had used before, and has used by now. One that ended keeps
// what was last read of it.
type cpuSpan struct {
	before, now time.Duration
	residentMB  float64
	alive       bool
}

func startMeter(all []running) (*cpuMeter, error) {
	m := &cpuMeter{began: time.Now(), spans: make(map[running]*cpuSpan)}
	machine, err := usage.Machine()
	if err != nil {
		return nil, err
	}
	m.machine = [2]time.Duration{machine, machine}
	for _, r := range all {
		used, err := r.used()
		if err != nil {
			return nil, fmt.Errorf("cannot watch %s: %w", r.name, err)
		}
		m.span(r).before, m.span(r).now = used, used
	}
	return m, nil
}

// span is that of a process; one that was not there before has used nothing before.
func (m *cpuMeter) span(r running) *cpuSpan {
	if m.spans[r] == nil {
		m.spans[r] = &cpuSpan{}
	}
	if !slices.Contains(m.names, r.name) {
		m.names = append(m.names, r.name)
	}
	return m.spans[r]
}

// read takes all processes that can be read.
func (m *cpuMeter) read(all []running) {
	for _, s := range m.spans {
		s.alive = false
	}
	for _, r := range all {
		used, err := r.used()
		if err != nil {
			continue // it has just ended, or ended and was not replaced yet
		}
		s := m.span(r)
		s.now, s.alive = used, true
		if mb, err := usage.ResidentMB(r.pid); err == nil && !r.family { // a family shares memory
			s.residentMB = mb
		}
	}
	if machine, err := usage.Machine(); err == nil {
		m.machine[1], m.last = machine, time.Now()
	}
}

// processes says what each name used, and what everything else on the machine did.
func (m *cpuMeter) processes(attempts int64) []report.Process {
	all := make([]report.Process, 0, len(m.names)+1)
	var known time.Duration
	for _, name := range m.names {
		var used time.Duration
		p := report.Process{Name: name}
		for r, s := range maps.All(m.spans) {
			if r.name != name {
				continue
			}
			used += s.now - s.before
			if s.alive {
				p.ResidentMB += s.residentMB
			}
		}
		known += used
		all = append(all, m.took(p, used, attempts))
	}
	// Both are read one after the other, to the tick: it may come out below nothing.
	other := max(0, m.machine[1]-m.machine[0]-known)
	return append(all, m.took(report.Process{Name: report.OtherProcess}, other, 0)) // which are none of its doing
}

func (m *cpuMeter) took(p report.Process, used time.Duration, attempts int64) report.Process {
	p.CPUSeconds, p.ResidentMB = rounded(used.Seconds()), rounded(p.ResidentMB)
	if watched := m.last.Sub(m.began).Seconds(); watched > 0 {
		p.Cores = rounded(used.Seconds() / watched)
	}
	if attempts > 0 {
		p.MicrosPerTry = rounded(float64(used.Microseconds()) / float64(attempts))
	}
	return p
}
