package service

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// Status is what a process answers its probes.
type Status string

// Statuses of a process.
const (
	StatusWarming  Status = "warming"
	StatusReady    Status = "ready"
	StatusDraining Status = "draining"
)

// PhaseState is how far a warm-up phase has come. A done phase stays done.
type PhaseState string

// States of a phase.
const (
	PhasePending PhaseState = "pending" // not done, and not failed yet
	PhaseFailing PhaseState = "failing" // not done; the last try failed
	PhaseDone    PhaseState = "done"
)

// Health is the warm-up and drain state of a process. Its methods may be called
// concurrently.
type Health struct {
	// SaleReady says why buyers of a sale cannot be served yet; nil when they
	// can. Set it before the ops listener serves; leave it nil in a process that
	// serves no sales.
	SaleReady func(saleID string) error

	now func() time.Time

	mu       sync.Mutex
	phases   []*Phase
	warm     bool // never goes back
	draining bool
	held     bool   // by an operator; see override.go
	reason   string // of that
}

// Phase is one step of the warm-up.
type Phase struct {
	health    *Health
	name      string
	state     PhaseState
	since     time.Time // when state was entered
	lastError string
}

// PhaseReport is a phase as the verbose probe shows it.
type PhaseReport struct {
	Name       string     `json:"name"`
	State      PhaseState `json:"state"`
	AgeSeconds float64    `json:"age_seconds"`          // in this state
	LastError  string     `json:"last_error,omitempty"` // of the last try, unless it went well
}

// NewHealth starts warming. Register every phase before the ops listener
// serves: a process without phases is not warm.
func NewHealth(now func() time.Time) *Health {
	return &Health{now: now}
}

// Phase adds a step to the warm-up, after those already there.
func (h *Health) Phase(name string) *Phase {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &Phase{health: h, name: name, state: PhasePending, since: h.now()}
	h.phases = append(h.phases, p)
	return p
}

// Done marks the phase as done, for good.
func (p *Phase) Done() {
	p.health.mu.Lock()
	defer p.health.mu.Unlock()
	p.enter(PhaseDone)
	p.lastError = ""
}

// Fail records why the phase is not done yet. A phase that was done stays done:
// the error is shown and changes nothing else.
func (p *Phase) Fail(err error) {
	p.health.mu.Lock()
	defer p.health.mu.Unlock()
	if p.state != PhaseDone {
		p.enter(PhaseFailing)
	}
	p.lastError = err.Error()
}

func (p *Phase) enter(next PhaseState) {
	if p.state != next {
		p.state, p.since = next, p.health.now()
	}
}

// Warm reports whether every phase was done once.
func (h *Health) Warm() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.isWarm()
}

// isWarm is asked when probed, not when a phase is done: the first phase may be
// done before the second is registered.
func (h *Health) isWarm() bool {
	if !h.warm {
		undone := func(p *Phase) bool { return p.state != PhaseDone }
		h.warm = len(h.phases) > 0 && !slices.ContainsFunc(h.phases, undone)
	}
	return h.warm
}

// Drain makes the process unready for good: it stops, and serves on only for
// those who have not noticed yet.
func (h *Health) Drain() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.draining = true
}

// Status returns what the readiness probe answers.
func (h *Health) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.draining:
		return StatusDraining
	case h.held:
		return StatusHeld
	case h.isWarm():
		return StatusReady
	default:
		return StatusWarming
	}
}

// Phases reports every phase, in order.
func (h *Health) Phases() []PhaseReport {
	h.mu.Lock()
	defer h.mu.Unlock()
	reports := make([]PhaseReport, len(h.phases))
	for i, p := range h.phases {
		reports[i] = PhaseReport{
			Name: p.name, State: p.state, LastError: p.lastError,
			AgeSeconds: h.now().Sub(p.since).Round(time.Millisecond).Seconds(),
		}
	}
	return reports
}

// How a phase is tried: as often as that, each try no longer than that.
const (
	tryPause   = 300 * time.Millisecond
	tryTimeout = 2 * time.Second
)

// Until tries a step until it succeeds, and then the phase is done. It returns an
// error only when ctx ends. What it waits for is logged once, and shown by the
// verbose probe as long as it lasts.
func (p *Phase) Until(ctx context.Context, log *slog.Logger, step func(context.Context) error) error {
	for told := false; ; {
		once, cancel := context.WithTimeout(ctx, tryTimeout)
		err := step(once)
		cancel()
		if err == nil {
			p.Done()
			return nil
		}
		p.Fail(err)
		if !told && ctx.Err() == nil {
			log.Warn("warm-up waits", "phase", p.name, "error", err)
			told = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tryPause):
		}
	}
}
