package faultproxy

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// link is one connection through the proxy.
type link struct {
	proxy  *Proxy
	client net.Conn
	torn   bool   // has lost a part of an answer; guarded by the proxy's lock
	first  []byte // words of the client, by which it is told from others; forwardRequests alone has them

	mu     sync.Mutex
	server net.Conn // nil until dialled
	once   sync.Once
	ended  chan struct{}
}

// join gives the link its other end, unless it has ended meanwhile.
func (l *link) join(server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
	select {
	case <-l.ended:
		_ = server.Close()
		return false
	default:
		return true
	}
}

// close ends both directions. The errors of closing tell nobody anything.
func (l *link) close() {
	l.once.Do(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		close(l.ended)
		_ = l.client.Close()
		if l.server != nil {
			_ = l.server.Close()
		}
	})
}

// awaitThaw returns once the proxy is not frozen; false when the link has ended.
func (l *link) awaitThaw() bool {
	return l.awaitWhile(func(m mode) bool { return m == frozen })
}

// awaitTurn is awaitThaw for what the client sends, which may be held by itself.
func (l *link) awaitTurn() bool {
	return l.awaitWhile(func(m mode) bool { return m == frozen || l.proxy.holds(l.first) })
}

func (l *link) awaitWhile(kept func(mode) bool) bool {
	for {
		mode, _, changed := l.proxy.now()
		if !kept(mode) {
			return true
		}
		select {
		case <-changed:
		case <-l.ended:
			return false
		}
	}
}

// forwardRequests ends the link once the client has gone and all that it sent was forwarded.
func (l *link) forwardRequests() {
	pieces := make(chan []byte, 1024)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer l.close()
	reading.Go(func() { l.readRequests(pieces) })
	var seen commitScanner
	for piece := range pieces {
		if l.first == nil {
			l.first = piece
		}
		if !l.forward(piece, seen.commits(piece)) {
			return
		}
	}
}

// readRequests takes what the client sends off its connection, where it would be lost with
// a client that goes while it is held.
func (l *link) readRequests(pieces chan<- []byte) {
	defer close(pieces)
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buffer)
		if n > 0 {
			select {
			case pieces <- bytes.Clone(buffer[:n]):
			case <-l.ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// forward sends a piece to the server; from each commit on, once that may pass. It
// reports whether the link is still there.
func (l *link) forward(piece []byte, commits []int) bool {
	sent := 0
	for _, at := range commits {
		if !l.send(piece[sent:at]) || !l.sleep(l.proxy.holdUp()) {
			return false
		}
		sent = at
	}
	return l.send(piece[sent:])
}

func (l *link) send(part []byte) bool {
	if len(part) == 0 {
		return true
	}
	if !l.awaitTurn() {
		return false
	}
	_, err := l.server.Write(part)
	return err == nil
}

// forwardAnswers delays each piece by its own arrival, so that many under way at
// once are not each held up by those before.
func (l *link) forwardAnswers() {
	defer l.close()
	pieces := make(chan piece, 1024)
	var writing sync.WaitGroup
	defer writing.Wait()
	defer close(pieces)
	writing.Go(func() { l.writeAnswers(pieces) })
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buffer)
		if n > 0 {
			_, delay, _ := l.proxy.now()
			p := piece{data: append([]byte(nil), buffer[:n]...), due: time.Now().Add(delay)}
			select {
			case pieces <- p:
			case <-l.ended:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// piece is a part of an answer and when it may go on.
type piece struct {
	data []byte
	due  time.Time
}

func (l *link) writeAnswers(pieces <-chan piece) {
	for p := range pieces {
		if !l.sleep(time.Until(p.due)) || !l.awaitThaw() {
			continue // drains
		}
		if mode, _, _ := l.proxy.now(); mode == losing || l.isTorn() {
			l.proxy.drop(l, len(p.data))
			continue
		}
		_, _ = l.client.Write(p.data) // a client that has gone may have sent what is still to be forwarded
	}
}

func (l *link) isTorn() bool {
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	return l.torn
}

// sleep reports whether the link is still there afterwards.
func (l *link) sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ended:
		return false
	}
}
