// Package loop is a client that sends as fast as answers come, or at a rate, over
// connections that stay open, at the least that a client can cost: it shares the machine
// with what it measures.
package loop

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sluice/loadtest/internal/record"
	"sluice/loadtest/internal/wait"
)

// Load is a closed loop: each connection sends its next request once the last was
// answered or, with a rate, when it is due as well.
type Load struct {
	URL         string   // of the server, without a path
	Also        []string // other servers, which share the connections
	Connections int
	Warm        time.Duration                   // at first, not measured
	Measured    time.Duration                   // at most
	PerSecond   float64                         // of all connections together; 0 is as fast as answers come
	Most        int                             // requests; 0 is no bound
	Request     func(into []byte, i int) []byte // appends the i-th request
	Want        int                             // status
	Answered    func(i int, body []byte) error  // called with every wanted answer, from any connection; may be nil
	Servers     []int                           // processes whose CPU time is counted
}

// Measurement is what a load saw.
type Measurement struct {
	PerSecond        float64         // wanted answers that came while it was measured
	Latencies        []time.Duration // with a rate, of all that were due while it was measured
	Summary          record.Summary
	Wanted, Unwanted int   // answers, those of the warm-up too
	Cores            Cores // used while it was measured
}

// ErrNoneWanted is of a measurement with nothing to report.
var ErrNoneWanted = errors.New("cannot measure: no answer that was wanted came while it was measured")

// loadRun is a load under way. Its counters belong to their connections until the
// senders have ended.
type loadRun struct {
	Load
	began, from, to time.Time // measured from one to the other
	next            atomic.Int64
	counts          []count // by connection
}

// count is what one connection saw.
type count struct {
	latencies        []time.Duration // of wanted answers
	wanted, unwanted int
	came             int       // wanted answers, while it was measured
	last             time.Time // of those
	err              error
}

// Run sends until the time is over or all is sent.
func (l Load) Run(ctx context.Context) (Measurement, error) {
	conns, err := DialEach(ctx, append([]string{l.URL}, l.Also...), l.Connections)
	if err != nil {
		return Measurement{}, err
	}
	defer CloseAll(conns)
	r := &loadRun{Load: l, began: time.Now(), counts: make([]count, len(conns))}
	r.from = r.began.Add(l.Warm)
	r.to = r.from.Add(l.Measured)
	var senders sync.WaitGroup
	sent := make(chan struct{})
	for k, c := range conns {
		senders.Go(func() { r.counts[k].err = r.send(ctx, k, c) })
	}
	go func() {
		senders.Wait()
		close(sent)
	}()
	used, err := r.watchCPU(ctx, sent)
	<-sent
	if err := errors.Join(err, ctx.Err()); err != nil {
		return Measurement{}, err
	}
	return r.result(used)
}

// send sends the requests of connection k.
func (r *loadRun) send(ctx context.Context, k int, c *Connection) error {
	if err := c.Within(time.Until(r.to) + AnswerTimeout); err != nil {
		return err
	}
	var request []byte
	seen := &r.counts[k]
	for n := 0; ; n++ {
		counts, ok := r.due(ctx, k, n)
		if !ok {
			return nil
		}
		i := int(r.next.Add(1)) - 1
		if r.Most > 0 && i >= r.Most {
			return nil
		}
		request = r.Request(request[:0], i)
		status, err := c.Do(request)
		if err != nil {
			return err
		}
		if status != r.Want {
			seen.unwanted++
			continue
		}
		r.count(seen, counts, time.Now())
		if r.Answered != nil {
			if err := r.Answered(i, c.Answer.Body()); err != nil {
				return err
			}
		}
	}
}

// due waits until request n of connection k is to be sent, and says from when its
// latency counts: with a rate from when it was due, however late the connection, this
// program or its timer is, and else from now; false when the time is over.
func (r *loadRun) due(ctx context.Context, k, n int) (from time.Time, ok bool) {
	if r.PerSecond == 0 {
		now := time.Now()
		return now, now.Before(r.to) && ctx.Err() == nil
	}
	nth := float64(n*r.Connections + k)
	due := r.began.Add(time.Duration(nth / r.PerSecond * float64(time.Second)))
	return due, due.Before(r.to) && wait.For(ctx, time.Until(due))
}

// count takes a latency if its request was due while it was measured: one that is answered
// after that waited the longest. A closed loop's counts by its answer.
func (r *loadRun) count(seen *count, from, now time.Time) {
	seen.wanted++
	within := func(t time.Time) bool { return !t.Before(r.from) && !t.After(r.to) }
	if within(now) {
		seen.came++
		seen.last = now
	}
	if r.PerSecond > 0 && within(from) || r.PerSecond == 0 && within(now) {
		seen.latencies = append(seen.latencies, now.Sub(from))
	}
}

// result adds up the connections. A load that ran out of requests was measured
// until its last answer.
func (r *loadRun) result(used Cores) (Measurement, error) {
	m := Measurement{Cores: used}
	var last time.Time
	came := 0
	for _, c := range r.counts {
		if c.err != nil {
			return m, fmt.Errorf("cannot measure: %w", c.err)
		}
		m.Wanted, m.Unwanted = m.Wanted+c.wanted, m.Unwanted+c.unwanted
		m.Latencies = append(m.Latencies, c.latencies...)
		came += c.came
		if c.last.After(last) {
			last = c.last
		}
	}
	if len(m.Latencies) == 0 {
		return m, fmt.Errorf("%w: %d others did", ErrNoneWanted, m.Wanted+m.Unwanted)
	}
	end := r.to
	if r.Most > 0 && int(r.next.Load()) > r.Most {
		end = last
	}
	m.PerSecond = float64(came) / end.Sub(r.from).Seconds()
	m.Summary = summarize(m.Latencies)
	return m, nil
}

func summarize(latencies []time.Duration) record.Summary {
	var all record.Latencies
	for _, d := range latencies {
		all.Add("", d)
	}
	return all.Summaries()[""]
}
