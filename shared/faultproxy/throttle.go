package faultproxy

import "time"

// throttle is how COMMITs are held up. The zero value lets them pass.
type throttle struct {
	every time.Duration // from one to the next, of all connections; 0 is no limit
	next  time.Time     // when the next may pass
	delay time.Duration // of each, whatever the others do
}

// reserve says how long a commit that comes now is held up.
func (t *throttle) reserve(now time.Time) time.Duration {
	if t.every == 0 {
		return t.delay
	}
	if t.next.Before(now) {
		t.next = now
	}
	wait := t.next.Sub(now)
	t.next = t.next.Add(t.every)
	return wait + t.delay
}

// holdUp says how long a commit that comes now is held up.
func (p *Proxy) holdUp() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commits.reserve(time.Now())
}
