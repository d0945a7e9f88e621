package collect

import (
	"fmt"
	"time"

	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
)

// workerMeter adds up what workers did from their first reading on, whatever was started
// again meanwhile.
type workerMeter struct {
	urls []string // in the stack's order
	did  map[string]*workerDid
}

// workerDid is what one worker did, and what it said last.
type workerDid struct {
	name            string
	orders, commits float64
	batched         float64 // reservations of these transactions
	last            Worker
}

// add takes a reading. If it shows that workers wrote since their last one, wrote is true,
// and it was after since and until.
func (m *workerMeter) add(workers []stack.WorkerInfo, now Fleet) (since, until time.Time, wrote bool) {
	if m.did == nil {
		m.did = make(map[string]*workerDid)
	}
	for i, w := range workers {
		is, answered := now[w.AdminURL]
		if !answered {
			continue
		}
		d := m.did[w.AdminURL]
		if d == nil {
			d = &workerDid{name: fmt.Sprintf("worker-%d", i), last: is}
			m.did[w.AdminURL], m.urls = d, append(m.urls, w.AdminURL)
		}
		was := d.last
		if is.progress() > was.progress() && (!wrote || was.At.Before(since)) {
			since = was.At
		}
		if d.take(is) {
			until, wrote = is.At, true
		}
	}
	return since, until, wrote
}

// take adds what was done since the last reading, and says whether anything was.
func (d *workerDid) take(is Worker) (wrote bool) {
	was := d.last
	if is.progress() < was.progress() { // it was started again
		was = Worker{At: was.At}
	}
	d.orders += is.Ordered - was.Ordered
	d.commits += is.Batches.Count - was.Batches.Count
	d.batched += is.Batches.Sum - was.Batches.Sum
	d.last = is
	return is.progress() > was.progress()
}

// last is what the workers said last.
func (m *workerMeter) last() Fleet {
	all := make(Fleet)
	for url, d := range m.did {
		all[url] = d.last
	}
	return all
}

// settings says what each worker was told and came to, over the time in which they wrote.
func (m *workerMeter) settings(writing time.Duration) []report.WorkerSettings {
	var all []report.WorkerSettings
	for _, url := range m.urls {
		d := m.did[url]
		s := report.WorkerSettings{
			Name: d.name, Batch: d.last.BatchMax, Consumers: d.last.Consumers, Ceiling: d.last.Ceiling, Pace: rounded(d.last.Pace),
			Target: millis(d.last.Target), P90: millis(d.last.P90), LimitedBy: d.last.LimitedBy, Orders: d.orders,
		}
		if d.commits > 0 {
			s.PerCommit = rounded(d.batched / d.commits)
		}
		if writing > 0 {
			s.Commits = rounded(d.commits / writing.Seconds())
		}
		all = append(all, s)
	}
	return all
}
