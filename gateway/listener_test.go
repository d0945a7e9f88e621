package main

import (
	"errors"
	"log/slog"
	"net"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// short is a listener that fails as often as told before it accepts.
type short struct {
	net.Listener
	failures []error
}

func (s *short) Accept() (net.Conn, error) {
	if len(s.failures) == 0 {
		return nil, net.ErrClosed
	}
	err := s.failures[0]
	s.failures = s.failures[1:]
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: err}
}

func TestListener_OutlivesAShortageAndEndsWhenClosed(t *testing.T) {
	t.Parallel()
	l := &short{failures: []error{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED}}
	if _, err := newPatient(l, prometheus.NewRegistry(), slog.New(slog.DiscardHandler)).Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("ended with %v", err)
	}
	if len(l.failures) != 0 {
		t.Errorf("gave up with %v to come", l.failures)
	}
}
