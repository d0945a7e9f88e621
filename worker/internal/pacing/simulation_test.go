package pacing

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var bounds = Config{Target: 50 * time.Millisecond, Floor: 100, Ceiling: 100_000, ConsumersMax: 8}

// database admits commits one after the other, and serves each in a time of its own.
// Of those it serves at a time only cores make progress.
type database struct {
	throttle time.Duration // between commits; 0 for none
	perTx    time.Duration // of a transaction, beside its orders
	perOrder time.Duration
	cores    int
	delay    time.Duration // that takes no core
	next     time.Time     // commit
	free     []time.Time   // each core
	noise    *rand.Rand
	stalls   time.Duration // from one to the next, on average; 0 for none
	stalled  time.Time     // the next one
}

func newDatabase() *database {
	return &database{perTx: 4 * time.Millisecond, perOrder: 30 * time.Millisecond / MaxBatch, cores: 2, noise: rand.New(rand.NewPCG(1, 2))}
}

func (d *database) commit(at time.Time, orders int) (done time.Time) {
	if len(d.free) == 0 {
		d.free = make([]time.Time, d.cores)
	}
	if d.stalls > 0 && at.After(d.stalled) {
		for j := range d.free {
			d.free[j] = at.Add(time.Duration(d.noise.IntN(400)) * time.Millisecond)
		}
		d.stalled = at.Add(time.Duration(d.noise.ExpFloat64() * float64(d.stalls)))
	}
	i := 0
	for j := range d.free {
		if d.free[j].Before(d.free[i]) {
			i = j
		}
	}
	begin := at
	if d.free[i].After(begin) {
		begin = d.free[i]
	}
	work := d.perTx + time.Duration(orders)*d.perOrder
	work += time.Duration(d.noise.ExpFloat64() * 0.1 * float64(work))
	d.free[i] = begin.Add(work)
	done = d.free[i]
	if d.throttle > 0 {
		if d.next.Before(done) {
			d.next = done
		}
		done = d.next
		d.next = d.next.Add(d.throttle)
	}
	return done.Add(d.delay)
}

// event is the end of a transaction, or a moment at which one may begin.
type event struct {
	at, began time.Time
	worker    *simWorker
	orders    int
	done      bool
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

// simWorker is a controller with a purse instead of a limiter.
type simWorker struct {
	c         *Controller
	arrivals  float64 // orders a second; 0 for a backlog that never ends
	waiting   float64
	purse     float64 // permits, down to minus a transaction
	at        time.Time
	inFlight  int
	peak      int
	cuts      int
	drain     int // transactions that began before a cut
	blocked   time.Duration
	isBlocked bool
	orders    int
	sizes     []int
	latencies []time.Duration
}

type simulation struct {
	db      *database
	workers []*simWorker
	queue   events
	now     time.Time
}

func simulate(db *database) *simulation { return &simulation{db: db, now: time.Unix(0, 0)} }

func (s *simulation) join(arrivals float64) *simWorker {
	w := &simWorker{c: NewController(bounds, s.now), arrivals: arrivals, at: s.now, purse: MaxBatch}
	s.workers = append(s.workers, w)
	heap.Push(&s.queue, event{at: s.now, worker: w})
	return w
}

// run goes on for d and forgets what was counted before.
func (s *simulation) run(d time.Duration) {
	end := s.now.Add(d)
	for _, w := range s.workers {
		w.orders, w.latencies, w.sizes = 0, nil, nil
	}
	for s.queue[0].at.Before(end) {
		e := heap.Pop(&s.queue).(event)
		s.now = e.at
		w := e.worker
		w.pass(s.now)
		if e.done {
			w.inFlight--
			if w.drain > 0 {
				if w.drain--; w.drain == 0 {
					w.purse = -MaxBatch
				}
			}
			w.orders += e.orders
			w.sizes = append(w.sizes, e.orders)
			w.latencies = append(w.latencies, e.at.Sub(e.began))
			w.c.Ended(s.now, Sample{Began: e.began, Latency: e.at.Sub(e.began), Cost: Cost(e.orders)})
		}
		w.tick(s.now)
		s.start(w)
		if !e.done {
			heap.Push(&s.queue, event{at: s.now.Add(time.Millisecond), worker: w})
		}
	}
	s.now = end
}

// pass lets time pass for the permits, the arrivals and what is blocked.
func (w *simWorker) pass(now time.Time) {
	passed := now.Sub(w.at)
	w.at = now
	w.purse = min(MaxBatch, w.purse+w.c.state.Pace*passed.Seconds())
	w.waiting += w.arrivals * passed.Seconds()
	if w.isBlocked {
		w.blocked += passed
	}
}

func (w *simWorker) tick(now time.Time) {
	window := now.Sub(w.c.window.since)
	defer func() {
		if w.c.Cuts() > w.cuts {
			w.cuts, w.drain = w.c.Cuts(), w.inFlight
			w.purse = -MaxBatch
		}
	}()
	if w.c.Tick(now, Usage{Busy: 2*w.blocked >= window, Peak: w.peak}) {
		w.blocked, w.peak = 0, w.inFlight
	}
}

// start begins what may begin: full transactions, or any while none is in flight.
func (s *simulation) start(w *simWorker) {
	for {
		n := MaxBatch
		if w.arrivals > 0 {
			n = min(n, int(w.waiting))
		}
		wants := n == MaxBatch || n > 0 && w.inFlight == 0
		due := w.purse > 0 && w.drain == 0
		w.isBlocked = wants && due && w.inFlight >= w.c.state.Consumers
		if !wants || !due || w.isBlocked {
			return
		}
		w.purse -= Cost(n)
		w.waiting -= float64(n)
		w.inFlight++
		w.peak = max(w.peak, w.inFlight)
		heap.Push(&s.queue, event{at: s.db.commit(s.now, n), began: s.now, worker: w, orders: n, done: true})
	}
}

func p90(latencies []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(latencies))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(9*len(sorted)+9)/10-1]
}

func (s *simulation) throttle(commits int) {
	if s.db.throttle = 0; commits > 0 {
		s.db.throttle = time.Second / time.Duration(commits)
	}
}

// together is what all workers did in the next seconds.
func (s *simulation) together(d time.Duration) (orders int, p90s time.Duration) {
	s.run(d)
	var all []time.Duration
	for _, w := range s.workers {
		orders += w.orders
		all = append(all, w.latencies...)
	}
	return orders, p90(all)
}

func TestController_UsesWhatTheDatabaseBearsFromTheFirstSecond(t *testing.T) {
	t.Parallel()
	s := simulate(newDatabase())
	s.join(0)
	first, _ := s.together(time.Second)
	s.run(10 * time.Second)
	later, latency := s.together(30 * time.Second)
	if 10*first < 8*later/30 {
		t.Errorf("%d orders in the first second, %d in a later one", first, later/30)
	}
	if latency > bounds.Target {
		t.Errorf("p90 %v", latency)
	}
}

// Within ten seconds of each change the p90 is within 1.5 × target and four fifths of what
// the throttle admits come through.
func TestController_FollowsAThrottleDownAndUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		s := simulate(newDatabase())
		s.db.noise = rand.New(rand.NewPCG(seed, 1))
		s.join(0)
		s.run(10 * time.Second)
		const watched = 30 * time.Second
		free, _ := s.together(watched)
		full := free / MaxBatch / int(watched.Seconds()) // commits a second
		for _, commits := range []int{full / 2, full / 8, 0, full / 8, full / 2, 0} {
			s.throttle(commits)
			s.run(10 * time.Second) // to follow
			orders, latency := s.together(watched)
			admitted := commits * MaxBatch * int(watched.Seconds())
			if commits == 0 {
				admitted = free
			}
			if 10*orders < 8*admitted || latency > bounds.Target*3/2 {
				t.Errorf("seed %d, %d commits a second: %d orders of %d, p90 %v", seed, commits, orders, admitted, latency)
			}
		}
	}
}

// A database that is short of commits gets fewer and larger transactions of the same orders.
func TestController_BatchesGrowWhenCommitsAreScarce(t *testing.T) {
	t.Parallel()
	s := simulate(newDatabase())
	w := s.join(1000)
	s.run(10 * time.Second)
	small := len(w.sizes)
	s.throttle(6)
	s.run(10 * time.Second)
	orders, _ := s.together(time.Minute)
	if orders < 50_000 {
		t.Errorf("%d orders of 60000", orders)
	}
	if len(w.sizes) > 6*60 || small < 600 {
		t.Errorf("%d transactions in a minute, %d in ten seconds before", len(w.sizes), small)
	}
}

func TestController_UsesASlowDatabaseAsWellAsItCanBe(t *testing.T) {
	t.Parallel()
	s := simulate(newDatabase())
	w := s.join(0)
	s.db.delay = 200 * time.Millisecond
	s.run(20 * time.Second)
	orders, latency := s.together(time.Minute)
	best := MaxBatch * bounds.ConsumersMax * int(time.Minute/(234*time.Millisecond)) // all consumers, no pace
	if 10*orders < 8*best {
		t.Errorf("%d orders of %d", orders, best)
	}
	if w.c.state.LimitedBy != LimitLatency || latency > w.c.state.Target {
		t.Errorf("limited by %s, p90 %v, target %v", w.c.state.LimitedBy, latency, w.c.state.Target)
	}
	s.db.delay = 0
	s.run(20 * time.Second)
	orders, latency = s.together(30 * time.Second)
	if w.c.state.Target != bounds.Target || latency > bounds.Target || orders < 500_000 {
		t.Errorf("once it is fast again: target %v, p90 %v, %d orders", w.c.state.Target, latency, orders)
	}
}

func TestController_WorkersShareADatabaseEvenly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		s := simulate(newDatabase())
		s.db.noise = rand.New(rand.NewPCG(seed, 2))
		s.join(0)
		s.run(20 * time.Second)
		alone, _ := s.together(30 * time.Second)
		s.join(0)
		s.run(time.Minute)
		orders, latency := s.together(30 * time.Second)
		one, two := s.workers[0].orders, s.workers[1].orders
		if 10*min(one, two) < 8*max(one, two) {
			t.Errorf("seed %d: made %d and %d, want shares within 20 %%", seed, one, two)
		}
		if 10*orders < 9*alone || latency > bounds.Target*3/2 {
			t.Errorf("seed %d: %d orders together, %d alone before, p90 %v", seed, orders, alone, latency)
		}
	}
}

// A machine that stalls now and then for tenths of a second is not a database that bears
// less: it slows a worker down for some seconds and not for good.
func TestController_StallsDoNotBringThePaceDown(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		orders := func(config Config) int {
			s := simulate(newDatabase())
			s.db.noise = rand.New(rand.NewPCG(seed, 3))
			s.db.stalls = 4 * time.Second
			w := s.join(0)
			w.c = NewController(config, s.now)
			s.run(30 * time.Second)
			made, _ := s.together(time.Minute)
			return made
		}
		best := orders(Config{Target: time.Hour, Floor: 100, Ceiling: 1_000_000, ConsumersMax: 8})
		if paced := orders(bounds); 10*paced < 6*best {
			t.Errorf("seed %d: %d orders of %d", seed, paced, best)
		}
	}
}
