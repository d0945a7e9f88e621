package main

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
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

// mostConnections is how many public connections the process can take: asked, or when
// that is 0 as many as is usual. More than there are descriptors for is refused.
func mostConnections(asked int) (int, error) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return 0, fmt.Errorf("cannot read the limit of open files: %w", err)
	}
	most := max(1, int(min(files.Cur, math.MaxInt32))-reservedFiles)
	if asked > most {
		return 0, service.UsageErrorf("-max-connections (%s) is %d, but the limit of open files leaves room for %d: lower it, or raise the limit (ulimit -n)",
			service.Variable("max-connections"), asked, most)
	}
	if asked == 0 {
		return min(usualConnections, most), nil
	}
	return asked, nil
}

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
