package pacing

import (
	"cmp"
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

var start = time.Unix(1000, 0)

// second closes a window of a second with n full transactions of the same latency.
func second(c *Controller, now time.Time, n int, latency time.Duration, u Usage) time.Time {
	return secondOf(c, now, n, MaxBatch, latency, u)
}

func secondOf(c *Controller, now time.Time, n, orders int, latency time.Duration, u Usage) time.Time {
	for i := range n {
		at := now.Add(time.Duration(i+1) * time.Second / time.Duration(n))
		c.Ended(at, Sample{Began: at.Add(-latency), Latency: latency, Cost: Cost(orders)})
	}
	now = now.Add(time.Second)
	c.Tick(now, u)
	return now
}

func TestController_FromWindowToWindow(t *testing.T) {
	t.Parallel()
	const well, slow = 20 * time.Millisecond, 80 * time.Millisecond
	type window struct {
		n       int
		latency time.Duration
		usage   Usage
		pace    float64
		of      int // consumers
		by      Limit
	}
	for name, test := range map[string]struct {
		config  Config
		windows []window
	}{
		"nothing to do leaves it where it is": {bounds, []window{
			{0, 0, Usage{}, 100_000, 2, LimitDemand},
			{12, well, Usage{Peak: 1}, 100_000, 2, LimitDemand},
		}},
		"consumers double until the first breach": {bounds, []window{
			{100, well, Usage{Busy: true}, 100_000, 4, LimitConsumers},
			{200, well, Usage{Busy: true}, 100_000, 8, LimitCeiling},
			{130, well, Usage{Busy: true}, 100_000, 8, LimitConsumers},
		}},
		"a breach cuts to what came through and what can be over in time": {bounds, []window{
			{100, well, Usage{Busy: true}, 100_000, 4, LimitConsumers},
			{40, slow, Usage{Busy: true}, 18_000, 2, LimitPace},
		}},
		"one at a time that is still over it is spaced": {bounds, []window{
			{40, 300 * time.Millisecond, Usage{Busy: true}, 18_000, 1, LimitPace},
			{12, 80 * time.Millisecond, Usage{Busy: true}, 5400, 1, LimitPace},
			{10, well, Usage{}, 5700, 1, LimitPace},
		}},
		"a cut in vain that made it fast is taken back": {bounds, []window{
			{40, 110 * time.Millisecond, Usage{Busy: true}, 18_000, 1, LimitPace},
			{36, 100 * time.Millisecond, Usage{}, 9000, 1, LimitPace},
			{18, well, Usage{}, 16_200, 1, LimitPace},
		}},
		"the pace leaps once it has been held": {bounds, []window{
			{20, 300 * time.Millisecond, Usage{Busy: true}, 9000, 1, LimitPace},
			{20, well, Usage{}, 9500, 1, LimitPace},
			{20, well, Usage{}, 9600, 1, LimitPace},
			{20, well, Usage{}, 19_200, 1, LimitPace},
			{40, well, Usage{}, 38_400, 1, LimitPace},
			{40, 80 * time.Millisecond, Usage{Busy: true}, 18_000, 1, LimitPace},
		}},
		"less and less is not less than the floor": {Config{50 * time.Millisecond, 15_000, 100_000, 8}, []window{
			{30, slow, Usage{Busy: true}, 15_000, 1, LimitPace},
		}},
		"as slow with gaps between them is slow": {bounds, []window{
			{40, 300 * time.Millisecond, Usage{Busy: true}, 18_000, 1, LimitPace},
			{36, 300 * time.Millisecond, Usage{}, 9000, 1, LimitPace},
			{18, 300 * time.Millisecond, Usage{}, 20_000, 2, LimitLatency},
			{40, 300 * time.Millisecond, Usage{Busy: true}, 40_000, 3, LimitLatency},
			{40, well, Usage{Busy: true}, 40_000, 6, LimitConsumers},
		}},
		"the operator's ceiling": {Config{50 * time.Millisecond, 500, 10_000, 8}, []window{
			{20, well, Usage{}, 10_000, 2, LimitCeiling},
		}},
		"idle consumers are taken back": {bounds, []window{
			{100, well, Usage{Busy: true}, 100_000, 4, LimitConsumers},
			{12, well, Usage{Peak: 1}, 100_000, 3, LimitDemand},
			{0, 0, Usage{}, 100_000, 3, LimitDemand},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, now := NewController(test.config, start), start
			for i, w := range test.windows {
				now = second(c, now, w.n, w.latency, w.usage)
				s := c.state
				if diff := s.Pace - w.pace; diff > 0.1*w.pace || diff < -0.1*w.pace || s.Consumers != w.of || s.LimitedBy != w.by {
					t.Fatalf("window %d: %+v, want pace %v, %d consumers, %s", i, s, w.pace, w.of, w.by)
				}
			}
		})
	}
}

func TestController_WhatCameThroughInSmallTransactions(t *testing.T) {
	t.Parallel()
	const slow, orders = 60 * time.Millisecond, 20
	config := bounds
	config.Floor = 1
	for name, test := range map[string]struct {
		n     int
		usage Usage
		pace  float64
	}{
		"all that the database bears, of consumers that are all busy": {133, Usage{Busy: true, Peak: 8}, cut * 133 * Cost(orders)},
		"maybe all that there was, of consumers that are idle":        {20, Usage{Peak: 2}, cut * 6 * MaxBatch / slow.Seconds()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewController(config, start)
			c.state.Consumers = config.ConsumersMax
			secondOf(c, start, test.n, orders, slow, test.usage)
			if s := c.state; s.Consumers != 6 || s.Pace > 1.01*test.pace || s.Pace < 0.99*test.pace {
				t.Errorf("%+v, want pace %.0f and 6 consumers", s, test.pace)
			}
		})
	}
}

// The first few orders of a sale came through slowly, and so does all that follows.
func TestController_ASlowDatabaseIsLeftWithWhatItBore(t *testing.T) {
	t.Parallel()
	const slow = 150 * time.Millisecond
	c := NewController(bounds, start)
	now := secondOf(c, start, 6, 20, slow, Usage{Peak: 1})
	if c.state.Pace < 2000 {
		t.Fatalf("pace %.0f after the first orders, which say little", c.state.Pace)
	}
	for range 4 {
		now = secondOf(c, now, 6, 20, slow, Usage{Busy: true})
		if c.state.LimitedBy == LimitLatency {
			break
		}
	}
	if s := c.state; s.LimitedBy != LimitLatency || s.Pace > 1.01*6*Cost(20) {
		t.Errorf("%+v, and %.0f a second came through", s, 6*Cost(20))
	}
}

func TestController_ErrorsHalveIt(t *testing.T) {
	t.Parallel()
	c := NewController(bounds, start)
	for i := range 20 {
		c.Ended(start.Add(time.Duration(i)*50*time.Millisecond), Sample{Began: start, Latency: time.Millisecond, Cost: MaxBatch})
	}
	c.Ended(start.Add(time.Second), Sample{Began: start, Latency: 5 * time.Second, Failed: true})
	if !c.Tick(start.Add(time.Second), Usage{}) || c.state.LimitedBy != LimitErrors || c.state.Pace != deepCut*20*MaxBatch {
		t.Fatalf("%+v", c.state)
	}
	c.Ended(start.Add(2*time.Second), Sample{Began: start, Latency: 7 * time.Second, Failed: true}) // of the same time
	if c.Tick(start.Add(4*time.Second), Usage{}); c.state.Pace != deepCut*20*MaxBatch {
		t.Fatalf("cut twice for one fault: %+v", c.state)
	}
}

func TestController_OneTimeoutAloneHalvesThePaceAndNoMore(t *testing.T) {
	t.Parallel()
	c, now := NewController(bounds, start), start
	now = second(c, now, 40, 80*time.Millisecond, Usage{Busy: true})
	before := c.state.Pace
	c.Ended(now.Add(20*time.Second), Sample{Began: now, Latency: 20 * time.Second, Failed: true})
	if c.Tick(now.Add(20*time.Second), Usage{}); c.state.Pace != before/2 || c.state.LimitedBy != LimitErrors {
		t.Errorf("%+v, pace %v before", c.state, before)
	}
}

// The machine is busy as a sale opens, so that transactions take long, however few orders
// are there to make.
func TestController_TheFirstOrdersOfASaleDoNotSayWhatTheDatabaseBears(t *testing.T) {
	t.Parallel()
	const slow = 150 * time.Millisecond
	c := NewController(bounds, start)
	now := start.Add(3 * time.Second)
	for range 3 {
		now = now.Add(slow)
		c.Ended(now, Sample{Began: now.Add(-slow), Latency: slow, Cost: Cost(20)})
	}
	c.Tick(now, Usage{Peak: 1})
	if pace, full := c.state.Pace, MaxBatch/slow.Seconds(); pace < cut*full-1 || c.state.Consumers != 1 {
		t.Errorf("pace %.0f with %d consumers, want %.0f: full transactions, one after the other", pace, c.state.Consumers, cut*full)
	}
	for range 4 { // what came through does, once as many orders are there as the pace allows
		now = second(c, now, 2, slow, Usage{Busy: true})
	}
	if pace := c.state.Pace; pace > 2*MaxBatch {
		t.Errorf("pace %.0f, and 2 full transactions a second came through", pace)
	}
}

// What was borne during the last rush says nothing about the next.
func TestController_AfterAQuietTimeItBeginsAnew(t *testing.T) {
	t.Parallel()
	cut := func() (*Controller, time.Time) {
		c := NewController(bounds, start)
		return c, second(c, start, 12, 300*time.Millisecond, Usage{Busy: true})
	}
	c, now := cut()
	if c.Tick(now.Add(longestWindow), Usage{}); c.state.Pace != bounds.Ceiling || c.state.Target != bounds.Target || c.state.LimitedBy != LimitDemand {
		t.Errorf("after nothing for a while: %+v", c.state)
	}
	c, now = cut()
	low := c.state.Pace
	for range holdFirst + 5 {
		now = second(c, now, 30, 5*time.Millisecond, Usage{Peak: 1}) // small ones would say the same
	}
	if c.state.Pace < 8*low {
		t.Errorf("after some seconds of little: %+v, %v before", c.state, low)
	}
}

// A batch that is halved waits for its own sale's others, which says nothing of the database.
func TestController_TransactionsOfAHalvedBatchAreNotJudged(t *testing.T) {
	t.Parallel()
	c := NewController(bounds, start)
	for i := range 60 {
		c.Ended(start.Add(time.Duration(i)*16*time.Millisecond), Sample{Began: start, Latency: 10 * time.Millisecond, Cost: MaxBatch})
		c.Ended(start.Add(time.Duration(i)*16*time.Millisecond), Sample{Began: start, Latency: 4 * time.Second, Cost: MaxBatch, Extra: true})
	}
	if !c.Tick(start.Add(time.Second), Usage{Busy: true}) || c.state.P90 != 10*time.Millisecond || c.state.Rate != 120*MaxBatch {
		t.Errorf("%+v", c.state)
	}
}

// TestController_OnRecordedTraces replays what a real Postgres took. The traces do not
// follow the controller, which sees the same latencies whatever it decides.
// worker/pace_trace_test.go says how they were recorded.
func TestController_OnRecordedTraces(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		target time.Duration
		times  int           // in a row
		length time.Duration // of each
		check  func(s verdict) bool
	}{
		"free":      {200 * time.Millisecond, 3, time.Minute, func(s verdict) bool { return s.Pace == bounds.Ceiling && s.LimitedBy == LimitConsumers }},
		"throttled": {50 * time.Millisecond, 1, 4 * time.Second, func(s verdict) bool { return s.Pace <= 4*MaxBatch && s.Consumers == 1 && s.LimitedBy == LimitPace }},
		"slow":      {50 * time.Millisecond, 3, time.Minute, func(s verdict) bool { return s.LimitedBy == LimitLatency && s.Target > 600*time.Millisecond }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := bounds
			config.Target = test.target
			c := NewController(config, start)
			for range test.times {
				replay(t, c, "testdata/"+name+".csv", test.length)
			}
			if !test.check(c.state) {
				t.Errorf("%+v", c.state)
			}
		})
	}
}

func replay(t *testing.T, c *Controller, path string, length time.Duration) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	from := c.window.since
	type ended struct {
		at time.Time
		s  Sample
	}
	var trace []ended
	for _, row := range rows[1:] {
		var n [3]int
		for i, field := range row {
			if n[i], err = strconv.Atoi(field); err != nil {
				t.Fatal(err)
			}
		}
		began, latency := from.Add(time.Duration(n[0])*time.Microsecond), time.Duration(n[1])*time.Microsecond
		trace = append(trace, ended{began.Add(latency), Sample{Began: began, Latency: latency, Cost: Cost(n[2])}})
	}
	slices.SortFunc(trace, func(a, b ended) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	for _, e := range trace {
		if e.at.Sub(from) > length {
			return
		}
		c.Ended(e.at, e.s)
		c.Tick(e.at, Usage{Busy: true, Peak: 2})
	}
}
