package calibrate

import (
	"math"
	"slices"
	"time"

	"sluice/loadtest/internal/report"
)

// used is what processes took during tries, without the rests between them.
type used struct {
	processes []report.Process
	watched   time.Duration
	attempts  int
}

// add counts what was taken during one try.
func (u *used) add(during []report.Process, took time.Duration, attempts int) {
	u.watched += took
	u.attempts += attempts
	for _, p := range during {
		i := slices.IndexFunc(u.processes, func(q report.Process) bool { return q.Name == p.Name })
		if i < 0 {
			u.processes = append(u.processes, report.Process{Name: p.Name})
			i = len(u.processes) - 1
		}
		u.processes[i].CPUSeconds += p.CPUSeconds
		u.processes[i].ResidentMB = max(u.processes[i].ResidentMB, p.ResidentMB)
	}
}

// all are the processes, with what they took of the time and for an attempt.
func (u *used) all() []report.Process {
	all := slices.Clone(u.processes)
	for i := range all {
		p := &all[i]
		p.Cores = thousandths(p.CPUSeconds / max(u.watched.Seconds(), 1e-3))
		if p.Name != report.OtherProcess && u.attempts > 0 { // which are none of its doing
			p.MicrosPerTry = thousandths(p.CPUSeconds * 1e6 / float64(u.attempts))
		}
		p.CPUSeconds = thousandths(p.CPUSeconds)
	}
	return all
}

func thousandths(v float64) float64 { return math.Round(v*1000) / 1000 }
