package faultproxy

import (
	"bytes"
	"time"
)

// commitMessage is a COMMIT as pgx sends it: a simple query of one word, whose
// length counts itself and the closing zero.
var commitMessage = []byte("Q\x00\x00\x00\x0bcommit\x00")

// commitScanner finds COMMITs in what one client sends, in whatever pieces it comes.
type commitScanner struct{ tail []byte }

func (s *commitScanner) count(piece []byte) int {
	all := append(s.tail, piece...)
	n := bytes.Count(all, commitMessage)
	rest := all
	if i := bytes.LastIndex(all, commitMessage); i >= 0 {
		rest = all[i+len(commitMessage):]
	}
	s.tail = append(s.tail[:0:0], rest[max(0, len(rest)-len(commitMessage)+1):]...)
	return n
}

// pace spaces events evenly. The zero value does not hold anything up.
type pace struct {
	every time.Duration
	next  time.Time
}

// reserve says how long to wait before so many commits may pass.
func (p *Proxy) reserve(commits int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if commits == 0 || p.commits.every == 0 {
		return 0
	}
	now := time.Now()
	if p.commits.next.Before(now) {
		p.commits.next = now
	}
	wait := p.commits.next.Sub(now)
	p.commits.next = p.commits.next.Add(time.Duration(commits) * p.commits.every)
	return wait
}
