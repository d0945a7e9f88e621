package connections

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// mostTold are connections that are refused with time for it. Each needs a
	// descriptor beside those of the places.
	mostTold = 64

	askWait   = 500 * time.Millisecond // for the beginning of the request
	leaveWait = 500 * time.Millisecond // for the client to have read the answer
	mostRead  = 16 << 10               // bytes of a request that is refused
)

// refusals answer connections that get no place. A client that is answered before
// it has asked, or whose request is left unread when the connection is closed, may
// lose the answer; so as many as there is room for are given time, and in a flood
// the others are told at once.
type refusals struct {
	room   chan struct{}
	owners *sync.WaitGroup
}

func newRefusals() refusals {
	return refusals{room: make(chan struct{}, mostTold), owners: &sync.WaitGroup{}}
}

func (r refusals) answer(conn net.Conn, text []byte) {
	select {
	case r.room <- struct{}{}:
		r.owners.Go(func() {
			defer func() { <-r.room }()
			defer conn.Close()
			told(conn, text)
		})
	default:
		_ = conn.SetWriteDeadline(time.Now().Add(leaveWait)) // a new connection's buffer has room
		_, _ = conn.Write(text)
		_ = conn.Close()
	}
}

// told waits for the client to ask, answers, and waits for it to leave.
func told(conn net.Conn, text []byte) {
	var beginning [512]byte
	_ = conn.SetReadDeadline(time.Now().Add(askWait))
	if _, err := conn.Read(beginning[:]); errors.Is(err, io.EOF) {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(leaveWait))
	if _, err := conn.Write(text); err != nil {
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(conn, mostRead))
	}
}

// Wait returns once every connection that was refused is closed.
func (p *Places) Wait() { p.refusal.owners.Wait() }
