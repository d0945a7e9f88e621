package pacing

import "time"

// State is how fast a worker makes orders, and why not faster.
type State struct {
	Paused        bool          // by an operator
	Pace          float64       // orders per second that the worker allows itself
	Floor         float64       // the least that it ever does
	Ceiling       float64       // the most that it ever does
	P90           time.Duration // of order transactions in the last window; 0 before the first
	Target        time.Duration // of it; above the configured one while the database is slow
	LimitedBy     Limit
	Consumers     int // order transactions that may be in flight
	ConsumersMax  int
	InFlight      int
	WorkersWanted int // at least 1
}

// State is as of now.
func (p *Pacer) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.controller.state
	return State{
		Paused: p.paused, Pace: s.Pace, Floor: p.cfg.Floor, Ceiling: p.cfg.Ceiling, P90: s.P90, Target: s.Target, LimitedBy: s.LimitedBy,
		Consumers: s.Consumers, ConsumersMax: p.cfg.ConsumersMax, InFlight: p.turns.running(), WorkersWanted: p.wanted,
	}
}

// ShareOf is the orders a second that a sale would get now if it had enough work: its
// share, by weight, among those that have work; 0 while paused, or when it is not served.
func (p *Pacer) ShareOf(saleID string) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused {
		return 0
	}
	l := p.turns.sales[saleID]
	if l == nil {
		return 0
	}
	return p.able() * l.weight / (l.weight + p.turns.othersWeight(saleID, time.Now()))
}

// able is what this worker can make: what it makes while something else than demand is
// the limit, else what its consumers could with full batches as fast as the last ones.
func (p *Pacer) able() float64 {
	s := p.controller.state
	if s.LimitedBy != LimitDemand && p.usage.rate > 0 {
		return p.usage.rate
	}
	if s.P90 == 0 {
		return s.Pace
	}
	return min(s.Pace, float64(s.Consumers)*MaxBatch/s.P90.Seconds())
}
