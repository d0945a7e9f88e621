package main

import (
	"errors"
	"log/slog"
	"net"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sluice/shared/service"
)

// reservedFiles are the descriptors that a gateway needs beside buyers' connections:
// stores, ops listener, logs.
const reservedFiles = 256

// usualConnections is how many connections a gateway takes when it is not told and
// has the descriptors.
const usualConnections = 10_000

// patient is a listener that outlives a shortage: fasthttp would end at the first
// connection for which there is no descriptor.
type patient struct {
	net.Listener
	failures prometheus.Counter
	log      *slog.Logger
	faults   *service.Quiet
}

func newPatient(l net.Listener, reg prometheus.Registerer, log *slog.Logger) patient {
	p := patient{Listener: l, log: log, faults: &service.Quiet{}, failures: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "sluice_accept_failures_total", Help: "Connections that could not be accepted for want of descriptors or memory.",
	})}
	reg.MustRegister(p.failures)
	return p
}

// acceptPause is how long a shortage is left to pass.
const acceptPause = 20 * time.Millisecond

// Accept waits for the next connection.
func (p patient) Accept() (net.Conn, error) {
	for {
		conn, err := p.Listener.Accept()
		if !passing(err) {
			return conn, err
		}
		p.failures.Inc()
		if p.faults.Allow() {
			p.log.Warn("connection not accepted", "error", err)
		}
		time.Sleep(acceptPause)
	}
}

func passing(err error) bool {
	for _, shortage := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, shortage) {
			return true
		}
	}
	return false
}
