package collect

import (
	"context"
	"sync"
	"time"

	"sluice/loadtest/internal/report"
	"sluice/loadtest/internal/stack"
)

const (
	paceEvery = 250 * time.Millisecond // a worker takes about a millisecond of CPU to answer, which counts as its own
	cpuEvery  = time.Second            // looking for Postgres's children costs some milliseconds
)

// Watched is what is watched while a run sends its attempts.
type Watched struct {
	Stack func() stack.Info // as it is now: what is started again has another pid
	Tools func() []int      // pids that send beside this process; nil when there are none

	Name, Text string    // of the pace
	Origin     time.Time // what the pace's times count from; the beginning when zero
}

// Watcher looks at the processes of a stack and at its workers until it is stopped. It
// does not use the stores.
type Watcher struct {
	watched Watched
	cancel  context.CancelFunc
	looking sync.WaitGroup
	stopped sync.Once

	mu      sync.Mutex
	cpu     *cpuMeter
	workers workerMeter
	pace    report.Pace
	every   int // which look's sample is kept in the pace, once there are many
	looks   int
	from    time.Time // when what is written began to be, as sampled; zero before
	to      time.Time // when the last of it was seen
	ended   time.Time
}

// Watch begins to watch. The caller stops it.
func Watch(ctx context.Context, w Watched) (*Watcher, error) {
	began := time.Now()
	if w.Origin.IsZero() {
		w.Origin = began
	}
	watcher := &Watcher{watched: w, pace: report.Pace{Name: w.Name, Text: w.Text}}
	var err error
	if watcher.cpu, err = startMeter(w.processes()); err != nil {
		return nil, err
	}
	first := ReadFleet(ctx, w.workerURLs())
	watcher.workers.add(w.Stack().Workers, first)
	ctx, watcher.cancel = context.WithCancel(ctx)
	watcher.looking.Go(func() { watcher.lookAtWorkers(ctx, first) })
	watcher.looking.Go(func() { watcher.lookAtProcesses(ctx) })
	return watcher, nil
}

func (w Watched) workerURLs() []string {
	var urls []string
	for _, worker := range w.Stack().Workers {
		urls = append(urls, worker.AdminURL)
	}
	return urls
}

// Mark notes in the pace what is done to the run now.
func (w *Watcher) Mark(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pace.Marks = append(w.pace.Marks, report.Mark{T: rounded(time.Since(w.watched.Origin).Seconds()), Text: text})
}

func (w *Watcher) lookAtWorkers(ctx context.Context, last Fleet) {
	tick := time.NewTicker(paceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := ReadFleet(ctx, w.watched.workerURLs())
		if ctx.Err() == nil {
			w.saw(last, now)
			last = now
		}
	}
}

// saw keeps what the workers said and did since they were last asked.
func (w *Watcher) saw(last, now Fleet) {
	info := w.watched.Stack()
	did := now.Since(last, w.watched.workerURLs())
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep(now.PaceSample(time.Since(w.watched.Origin), did))
	if since, until, wrote := w.workers.add(info.Workers, now); wrote {
		if w.from.IsZero() {
			w.from = since
		}
		w.to = until
	}
}

// mostPace bounds the samples of a pace: a run may last hours.
const mostPace = 2000

// keep keeps every sample of a short run, and fewer the longer it lasts, of all of it.
func (w *Watcher) keep(s report.PaceSample) {
	w.looks++
	if w.every > 1 && w.looks%w.every != 0 {
		return
	}
	w.pace.Samples = append(w.pace.Samples, s)
	if len(w.pace.Samples) < mostPace {
		return
	}
	half := w.pace.Samples[:0]
	for i, s := range w.pace.Samples {
		if i%2 == 1 {
			half = append(half, s)
		}
	}
	w.pace.Samples, w.every = half, max(1, w.every)*2
}

func (w *Watcher) lookAtProcesses(ctx context.Context) {
	tick := time.NewTicker(cpuEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		running := w.watched.processes()
		w.mu.Lock()
		w.cpu.read(running)
		w.mu.Unlock()
	}
}

// Seen is what a watcher saw.
type Seen struct {
	Processes []report.Process
	Settings  []report.WorkerSettings
	Pace      report.Pace
	Writing   time.Duration // see Stop
}

// Stop ends the watching and says what was seen while so many attempts were sent.
// Writing is from the last sample before a worker decided its first reservation until the
// first one after it settled its last ticket, 0 when there was none: by up to two samples
// too long.
func (w *Watcher) Stop(ctx context.Context, attempts int64) Seen {
	w.stopped.Do(func() {
		w.cancel()
		w.looking.Wait()
		w.cpu.read(w.watched.processes())
		w.ended = time.Now()
		// What was done since the last sample counts; it may be the first to show any.
		w.saw(w.workers.last(), ReadFleet(ctx, w.watched.workerURLs()))
	})
	return Seen{
		Processes: w.cpu.processes(attempts), Settings: w.workers.settings(w.to.Sub(w.from)),
		Pace: w.pace, Writing: w.to.Sub(w.from),
	}
}

// Show puts what was seen into a report, with the rows that the database wrote meanwhile,
// as Stores.Written counts them.
func (s Seen) Show(rep *report.Report, rows int64) {
	rep.Processes, rep.Settings = s.Processes, s.Settings
	if len(s.Pace.Samples) > 0 {
		rep.Paces = append(rep.Paces, s.Pace)
	}
	rep.Writes = report.Writes{Rows: rows, Seconds: rounded(s.Writing.Seconds())}
	rep.DBWritesPerS = rep.Writes.PerSecond()
}
