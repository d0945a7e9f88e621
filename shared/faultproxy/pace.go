package faultproxy

import "time"

// pace is how COMMITs are held up. The zero value lets them pass.
type pace struct {
	every time.Duration // from one to the next, of all connections; 0 is no limit
	next  time.Time     // when the next may pass
	delay time.Duration // of each, whatever the others do
}

// reserve says how long a commit that comes now is held up.
func (p *pace) reserve(now time.Time) time.Duration {
	if p.every == 0 {
		return p.delay
	}
	if p.next.Before(now) {
		p.next = now
	}
	wait := p.next.Sub(now)
	p.next = p.next.Add(p.every)
	return wait + p.delay
}

// holdUp says how long a commit that comes now is held up.
func (p *Proxy) holdUp() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commits.reserve(time.Now())
}
