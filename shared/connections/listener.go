package connections

import (
	"net"
	"time"
)

// listener accepts connections for which there is a place, and answers the others.
type listener struct {
	net.Listener
	places *Places
}

// Listen gives places to the connections of inner.
func (p *Places) Listen(inner net.Listener) net.Listener { return listener{inner, p} }

// Accept returns the next connection that has a place.
func (l listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		conn, refused := l.places.admit(inner, time.Now())
		if conn != nil {
			return conn, nil
		}
		l.places.refusal.answer(inner, refused)
	}
}
