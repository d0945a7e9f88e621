package bench

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

// load is a closed loop: each connection sends its next request once the last was
// answered or, with a rate, when it is due as well.
type load struct {
	url         string // of the server, without a path
	connections int
	warm        time.Duration                   // at first, not measured
	measured    time.Duration                   // at most
	perSecond   float64                         // of all connections together; 0 is as fast as answers come
	most        int                             // requests; 0 is no bound
	request     func(into []byte, i int) []byte // appends the i-th request
	want        int                             // status
	answered    func(i int, body []byte) error  // called with every wanted answer, from any connection; may be nil
	servers     []int                           // processes whose CPU time is counted
}

// measurement is what a load saw.
type measurement struct {
	perSecond        float64 // wanted answers while it was measured
	latencies        []time.Duration
	summary          record.Summary
	wanted, unwanted int   // answers, those of the warm-up too
	cores            cores // used while it was measured
}

var errNoneWanted = errors.New("cannot measure: no answer that was wanted came while it was measured")

// loadRun is a load under way. Its counters belong to their connections until the
// senders have ended.
type loadRun struct {
	load
	began, from, to time.Time // measured from one to the other
	next            atomic.Int64
	counts          []count // by connection
}

// count is what one connection saw.
type count struct {
	latencies        []time.Duration // of wanted answers that came while it was measured
	wanted, unwanted int
	last             time.Time // of those answers
	err              error
}

func (l load) run(ctx context.Context) (measurement, error) {
	address, err := addressOf(l.url)
	if err != nil {
		return measurement{}, err
	}
	conns, err := dialMany(ctx, address, l.connections)
	if err != nil {
		return measurement{}, err
	}
	defer closeConnections(conns)
	r := &loadRun{load: l, began: time.Now(), counts: make([]count, len(conns))}
	r.from = r.began.Add(l.warm)
	r.to = r.from.Add(l.measured)
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
		return measurement{}, err
	}
	return r.result(used)
}

// send sends the requests of connection k.
func (r *loadRun) send(ctx context.Context, k int, c *connection) error {
	if err := c.within(time.Until(r.to) + answerTimeout); err != nil {
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
		if r.most > 0 && i >= r.most {
			return nil
		}
		request = r.request(request[:0], i)
		status, err := c.do(request)
		if err != nil {
			return err
		}
		if status != r.want {
			seen.unwanted++
			continue
		}
		r.count(seen, counts, time.Now())
		if r.answered != nil {
			if err := r.answered(i, c.answer.Body()); err != nil {
				return err
			}
		}
	}
}

// due waits until request n of connection k is to be sent, and says from when its
// latency counts: from its due time if the connection was busy then, so that
// waiting for a slow answer counts, and else from now; false when the time is over.
func (r *loadRun) due(ctx context.Context, k, n int) (from time.Time, ok bool) {
	now := time.Now()
	if r.perSecond == 0 {
		return now, now.Before(r.to) && ctx.Err() == nil
	}
	nth := float64(n*r.connections + k)
	due := r.began.Add(time.Duration(nth / r.perSecond * float64(time.Second)))
	switch {
	case !due.Before(r.to):
		return now, false
	case due.Before(now):
		return due, ctx.Err() == nil
	}
	return time.Now(), wait.For(ctx, due.Sub(now))
}

func (r *loadRun) count(seen *count, from, now time.Time) {
	seen.wanted++
	if now.Before(r.from) || now.After(r.to) {
		return
	}
	seen.latencies = append(seen.latencies, now.Sub(from))
	seen.last = now
}

// result adds up the connections. A load that ran out of requests was measured
// until its last answer.
func (r *loadRun) result(used cores) (measurement, error) {
	m := measurement{cores: used}
	var last time.Time
	for _, c := range r.counts {
		if c.err != nil {
			return m, fmt.Errorf("cannot measure: %w", c.err)
		}
		m.wanted, m.unwanted = m.wanted+c.wanted, m.unwanted+c.unwanted
		m.latencies = append(m.latencies, c.latencies...)
		if c.last.After(last) {
			last = c.last
		}
	}
	if len(m.latencies) == 0 {
		return m, fmt.Errorf("%w: %d others did", errNoneWanted, m.wanted+m.unwanted)
	}
	end := r.to
	if r.most > 0 && int(r.next.Load()) > r.most {
		end = last
	}
	m.perSecond = float64(len(m.latencies)) / end.Sub(r.from).Seconds()
	m.summary = summarize(m.latencies)
	return m, nil
}

func summarize(latencies []time.Duration) record.Summary {
	var all record.Latencies
	for _, d := range latencies {
		all.Add("", d)
	}
	return all.Summaries()[""]
}
